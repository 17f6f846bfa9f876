// Uncontended lock and unlock, Holdfast beside its peers and beside its own scripts sent raw. What is measured and
// how to read it: docs/performance.md.
import { writeFile } from 'node:fs/promises'
import { UsageError } from '../../scripts/command-line.mjs'
import { interruption } from '../../scripts/interruption.mjs'
import { provideRedis } from '../../scripts/redis/provide-redis.mjs'
import { parseArguments, USAGE } from './src/arguments.mjs'
import { openCells, PACKAGES, SETTINGS } from './src/cells.mjs'
import { barsOf, compare } from './src/comparison.mjs'
import { connectToWatch, RedisGoneError } from './src/connection.mjs'
import { load, machineFacts, versionOf } from './src/machine.mjs'
import { RedisInfo } from './src/redis-info.mjs'
import { report } from './src/report.mjs'
import { runRounds } from './src/rounds.mjs'
import { assertSameCommands } from './src/same-commands.mjs'
import { smoke } from './src/smoke.mjs'

const log = (line) => console.error(line)
const interrupted = interruption()

const main = async (wanted) => {
  const redis = await provideRedis({ log: (line) => log(`redis: ${line}`) })
  try {
    log(`redis: ${redis.how}`)
    interrupted.throwIfAborted()
    const { redis: admin, gone } = await connectToWatch(redis.url)
    try {
      return await Promise.race([gone, onRedis(wanted, redis.url, new RedisInfo(admin))])
    } finally {
      admin.disconnect()
    }
  } finally {
    await redis.stop()
  }
}

/** @returns {Promise<object>} what was found, and in `problems` what ends the process with 1 */
const onRedis = async (wanted, url, info) => {
  const { flows, only } = wanted
  const opened = await openCells({ url, flows, only })
  try {
    if (opened.cells.length === 0) throw new UsageError('--only leaves no contestant')
    await assertSameCommands(url, opened.runId)
    const run = wanted.smoke ? await countsOf(opened, info) : await timesOf(wanted, opened, info)
    const left = await info.keysWith(opened.runId)
    if (left.length > 0) run.problems.push(`${left.length} keys were left behind, as ${left[0]}`)
    return run
  } finally {
    await opened.close()
  }
}

const countsOf = async ({ cells, missing }, info) => {
  const failed = await smoke(cells, { info, signal: interrupted, log })
  for (const { name, reason } of missing) log(`left out: ${name} does not load on this Node: ${reason}`)
  log(`${cells.length - failed} of ${cells.length} contestants lock and unlock as they should`)
  return { contestants: cells.length, failed, missing, problems: failed > 0 ? ['the smoke failed'] : [] }
}

const timesOf = async ({ rounds, ms, flows }, { cells, missing }, info) => {
  const before = load()
  const results = await runRounds(cells, { rounds, ms, info, signal: interrupted, log })
  const compared = SETTINGS.flatMap(({ id }) => compare(results.filter((each) => each.setting === id)))
  const run = {
    machine: machineFacts(),
    redis: await info.version(),
    versions: Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
    flows,
    rounds,
    ms,
    load: { before, after: load() },
    results: compared,
    missing,
    bars: barsOf(compared),
    problems: compared
      .filter((each) => each.failure !== undefined)
      .map((each) => `${each.name} (${each.setting}): ${each.failure}`),
  }
  console.log(report(run))
  return run
}

try {
  const wanted = parseArguments(process.argv.slice(2))
  if (wanted.help) {
    console.log(USAGE)
  } else {
    const run = await main(wanted)
    if (wanted.json !== undefined) await writeFile(wanted.json, `${JSON.stringify(run, null, 2)}\n`)
    for (const problem of run.problems) console.error(`Problem: ${problem}`)
    if (run.problems.length > 0) process.exitCode ||= 1
  }
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error.message)
  process.exitCode ||= error instanceof UsageError ? 2 : 1
  // Without the server, clients go on trying to connect, and callers go on waiting.
  if (error instanceof RedisGoneError) process.exit()
}
