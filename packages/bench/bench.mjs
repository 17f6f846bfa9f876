// Holdfast beside its peers and beside its own scripts sent raw, in one run. What is measured and how to read it:
// docs/performance.md.
import { readFile, writeFile } from 'node:fs/promises'
import { parseArguments, USAGE } from './src/arguments.mjs'
import { log, runCommand, withRedis } from './src/command.mjs'
import { continueOn } from './src/reference-node.mjs'
import { writeDocs, writePlots } from './src/report/files.mjs'
import { chartsOf, report } from './src/report/report.mjs'
import { runScenarios } from './src/run.mjs'

const main = async (wanted, interrupted) => {
  if (wanted.node !== undefined) await continueOn(wanted.node, log)
  const run =
    wanted.from === undefined
      ? await withRedis(interrupted, (how) => runScenarios(wanted, how))
      : JSON.parse(await readFile(wanted.from, 'utf8'))
  // A smoke checks that the tables and plots can be made, too.
  const tables = report(run)
  if (wanted.smoke) chartsOf(run)
  else console.log(tables)
  if (wanted.json !== undefined) await writeFile(wanted.json, `${JSON.stringify(run, null, 2)}\n`)
  if (wanted.plots !== undefined) await writePlots(run, wanted.plots)
  if (wanted.writeDocs) await writeDocs(run)
  for (const { name, reason } of run.missing) log(`left out: ${name} does not load on this Node: ${reason}`)
  for (const problem of run.problems) log(`Problem: ${problem}`)
  if (wanted.smoke) log(`every scenario in ${run.seconds.toFixed(1)} s: ${run.problems.length} problems`)
  if (run.problems.length > 0) process.exitCode ||= 1
}

await runCommand(USAGE, parseArguments, main)
