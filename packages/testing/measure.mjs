// How long a TestRedis takes: to be there in a new process, and to lock and unlock.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseOptions, wholeNumber } from '../../scripts/command-line.mjs'
import { median } from '../../scripts/median.mjs'
import { runCommand } from '../../scripts/run-command.mjs'
import { table } from '../../scripts/table.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PAIRS = 10_000
const USAGE = `Usage: npm run measure:testing -- [options]

  --rounds N   how many new processes   (11)
  --help`

/** In the process that is measured. */
const measured = `
const cpuMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1_000 }
const during = async (work) => {
  const [wall, cpu] = [performance.now(), cpuMs()]
  const value = await work()
  return { value, wall: performance.now() - wall, cpu: cpuMs() - cpu }
}
const { LockClient } = await import('@holdfast/core')
const boot = await during(async () => {
  const { TestRedis } = await import('@holdfast/testing')
  return new TestRedis()
})
const locks = new LockClient(boot.value)
const lock = locks.getLock('order:42')
const pair = () => lock.withLock(() => undefined)
const first = await during(pair)
for (let i = 0; i < 1_000; i += 1) await pair()
const many = await during(async () => {
  for (let i = 0; i < ${PAIRS}; i += 1) await pair()
})
await locks.close()
const each = { wall: many.wall / ${PAIRS}, cpu: many.cpu / ${PAIRS} }
console.log(JSON.stringify({ boot, first, each }, ['boot', 'first', 'each', 'wall', 'cpu']))
`

const parseArguments = (args) => {
  const { rounds, help } = parseOptions(args, {
    rounds: { type: 'string', default: '11' },
    help: { type: 'boolean', default: false },
  })
  return { help, rounds: wholeNumber('rounds', rounds, 1_000) }
}

const measure = ({ rounds }) => {
  const runs = Array.from({ length: rounds }, () =>
    JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', measured], { cwd: ROOT })),
  )
  const row = (what, name, digits) => [
    what,
    ...['wall', 'cpu'].map((kind) => median(runs.map((run) => run[name][kind])).toFixed(digits)),
  ]
  const rows = [
    [`ms, medians of ${runs.length} processes, Node ${process.versions.node}`, 'wall', 'CPU'],
    row('import and new TestRedis(), beside a loaded @holdfast/core', 'boot', 1),
    row('the first lock and unlock, which compiles their scripts', 'first', 1),
    row(`each of ${PAIRS} locks and unlocks, one after the other`, 'each', 3),
  ]
  for (const line of table(rows)) console.log(line)
  return true
}

await runCommand({ parseArguments, USAGE, run: async (wanted) => measure(wanted) })
