// Holdfast beside its peers and beside its own scripts sent raw, in one run. What is measured and how to read it:
// docs/performance.md.
import { readFile, writeFile } from 'node:fs/promises'
import { UsageError } from '../../scripts/command-line.mjs'
import { interruption } from '../../scripts/interruption.mjs'
import { provideRedis } from '../../scripts/redis/provide-redis.mjs'
import { parseArguments, USAGE } from './src/arguments.mjs'
import { connectToWatch, RedisGoneError } from './src/connection.mjs'
import { continueOn } from './src/reference-node.mjs'
import { RedisInfo } from './src/redis-info.mjs'
import { writeDocs, writePlots } from './src/report/files.mjs'
import { chartsOf, report } from './src/report/report.mjs'
import { runScenarios } from './src/run.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()
const LAST_GRACE_MS = 10_000
// A library that waits for something that never comes shall not keep the bench from ending.
interrupted.addEventListener('abort', () => setTimeout(() => process.exit(), LAST_GRACE_MS).unref())

const measured = async (wanted) => {
  const redis = await provideRedis({ log: (line) => log(`redis: ${line}`) })
  try {
    log(`redis: ${redis.how}`)
    interrupted.throwIfAborted()
    const { redis: admin, gone } = await connectToWatch(redis.url)
    const how = { url: redis.url, info: new RedisInfo(admin), signal: interrupted, log }
    try {
      return await Promise.race([gone, runScenarios(wanted, how)])
    } finally {
      admin.disconnect()
    }
  } finally {
    await redis.stop()
  }
}

const main = async () => {
  const wanted = parseArguments(process.argv.slice(2))
  if (wanted.help) {
    console.log(USAGE)
    return
  }
  if (wanted.node !== undefined) await continueOn(wanted.node, log)
  const run =
    wanted.from === undefined ? await measured(wanted) : JSON.parse(await readFile(wanted.from, 'utf8'))
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

try {
  await main()
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error)
  process.exitCode ||= error instanceof UsageError ? 2 : 1
  // Without the server, clients go on trying to connect, and callers go on waiting.
  if (error instanceof RedisGoneError) process.exit()
}
