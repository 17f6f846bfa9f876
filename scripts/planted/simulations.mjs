// Planted bugs in simulated worlds: each gets the same seeds, until one breaks a rule or the time is over.
import { runProgram } from './runs.mjs'

// Seconds are those of one core; a machine may have other things to do.
const SLOWEST = 20
const PRELOAD = `--import ${new URL('./preload.mjs', import.meta.url).href}`

/** Whole files whose bugs no simulated world can show, and why. */
const OUTSIDE = [
  [/^core\/src\/redis\/(node-redis|ioredis\/cluster)/, 'of a client that is not simulated'],
  [/^core\/src\/compound\/(node-|quorum)/, 'of red locks, which are not simulated'],
  [
    /^core\/src\/(diagnostics|events|decorators|lock-holder|client\/(context-ends|outage|self-waits))/,
    'of what is told',
  ],
  [/^(otel|bullmq|nestjs)\//, 'of an integration'],
]

/** Bugs that break neither safety nor liveness of a lock, or need what is not simulated. */
const ALSO_OUTSIDE = [
  [/transaction|QUEUED/, 'of a transaction on a shared connection'],
  [/RedLock|a node/, 'of red locks, which are not simulated'],
  [/is answered is believed/, 'of a reply of an unknown shape'],
  [/shortened/, 'of leases that are shortened, which no caller does'],
  [
    /however far|waits for its release|QUEUED|different lengths|leaves its timer|alone$|needs? a/,
    'of how much it costs',
  ],
  [/Sentinel|slot|failoverDetector|redirections/, 'of Sentinel or a cluster'],
  [/string|Java|another type/, 'of what other programs leave in Redis'],
  [/replica(s are late| knows)|too few replicas|with acks/, 'of writes that replicas acknowledge'],
  [
    /told|reason of a loss|any lease for its own|time-out knows only|wrong password|Redis 6.2|waitMs of|leaseMs of|keep the process|published in the context|await/,
    'of what is told, and to whom',
  ],
]

/** Worlds of one kind, where a mistake is about one. */
const KINDS = [
  [/fair|rejoin/, 'fair'],
  [/read-lock|write-lock|read-write/, 'read-write'],
  [/spin/, 'spin'],
  [/compound/, 'multi'],
  [/semaphore|counter|latch|synchronizers|permit/, 'semaphore,permits,latch'],
]

const kindsFor = ({ file }) => KINDS.find(([pattern]) => pattern.test(file))?.[1] ?? 'all'

/** @returns {string | undefined} why no world can show it */
export const outside = (name, { file }) =>
  (OUTSIDE.find(([pattern]) => pattern.test(file)) ??
    ALSO_OUTSIDE.find(([pattern]) => pattern.test(name)))?.[1]

/**
 * @param {{ bug?: string, planted?: { file: string }, seconds: number, signal: AbortSignal }} how
 * @returns {Promise<{ found: boolean, seconds: number, evidence: string }>}
 */
export const simulate = async ({ bug, planted, seconds, signal }) => {
  const env = bug && { NODE_OPTIONS: PRELOAD, HOLDFAST_PLANTED_BUG: bug }
  const command = ['scripts/simulate.mjs', '--first', '--seed', '1', '--minutes', String(seconds / 60)]
  if (planted) command.push('--kinds', kindsFor(planted))
  const { code, stdout, stderr } = await runProgram(command, {
    env,
    signal,
    longestMs: seconds * SLOWEST * 1_000,
  })
  const [, taken = ''] = /, ([\d.]+) s$/m.exec(stdout) ?? []
  const evidence = stdout.split('\n').find((line) => /^I\d+ /.test(line)) ?? stdout.split('\n').at(4) ?? ''
  if (code === 0) return { found: false, seconds: Number(taken), evidence: stdout.split('\n')[0] }
  if (code === 1 && taken !== '') return { found: true, seconds: Number(taken), evidence }
  throw new Error(`exit code ${code}:\n${stdout}\n${stderr}`)
}
