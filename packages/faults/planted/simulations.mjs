// Planted bugs in simulated worlds: each gets the same seeds, until one breaks a rule or the time is over.
import { runProgram } from './runs.mjs'

// Seconds are those of one core; a machine may have other things to do.
const SLOWEST = 20
export const PRELOAD = `--import ${new URL('./preload.mjs', import.meta.url).href}`

/** Whole files whose bugs no simulated world can show, and why. */
const OUTSIDE_FILES = [
  [/^core\/src\/redis\/(node-redis|ioredis\/cluster)/, 'of a client that is not simulated'],
  [/^core\/src\/compound\/(node-|quorum)/, 'of red locks, which are not simulated'],
  [/^core\/src\/(scripts\/)?travel\//, 'of holds that travel, which are not simulated'],
  [
    /^core\/src\/(diagnostics|events|decorators|lock-holder|compound\/linked-context|client\/(context-ends|outage|self-waits))/,
    'of what is told',
  ],
  [
    /^core\/src\/(scripts\/)?(election|share|schedule|observe)\//,
    'of elections, shared results, schedules and observers, which are not simulated',
  ],
]

/** The others, by name: a list of words would take along what it was not meant for. */
const OUTSIDE_NAMES = {
  'of a transaction on a shared connection': ['QUEUED is taken for an answer'],
  'of red locks, which are not simulated': ['a hold of a RedLock takes no node again'],
  'of leases that are shortened, which no caller does': [
    'a lease that was shortened is trusted for as long as before',
  ],
  'of settings that no world has': ['a lock is granted although somebody listens who would never be told'],
  'of a machine that sleeps, a Java client, and a client that is closed during its calls, which no world has':
    ['a grant is trusted although the machine slept', 'a call without an answer outlives its client'],
  'of calls that no caller makes': [
    'a lock without a token is passed to whoever wants one',
    'a non-reentrant lock re-enters',
  ],
  'of Sentinel or a cluster': [
    'behind Sentinel trust goes on while there is no connection',
    'one script for all slots',
  ],
  'of what other programs leave in Redis': [
    'a re-entry that finds a string is refused, and its levels go on',
  ],
  'of writes that replicas acknowledge': [
    'a lease counts that too few replicas have',
    'what the primary says adds trust that no replica knows of',
  ],
  'of what is told, and to whom': [
    'who stops wanting several locks is told before what was on its way is undone',
  ],
}

/** Worlds of one kind, where a mistake is about one. */
const KINDS = [
  [/fair|rejoin/, 'fair'],
  [/read-lock|write-lock|read-write/, 'read-write'],
  [/spin/, 'spin'],
  [/compound/, 'multi'],
  [/semaphore|counter|latch|synchronizers|permit/, 'semaphore,permits,latch'],
]

export const kindsFor = ({ file }) => KINDS.find(([pattern]) => pattern.test(file))?.[1] ?? 'all'

/** @returns {string | undefined} why no world can show it */
export const outside = (name, { file }) =>
  OUTSIDE_FILES.find(([pattern]) => pattern.test(file))?.[1] ??
  Object.entries(OUTSIDE_NAMES).find(([, names]) => names.includes(name))?.[0]

/** @returns {string[]} names above that are those of no bug, or of one whose whole file is outside */
export const strayNames = (bugs) =>
  Object.values(OUTSIDE_NAMES)
    .flat()
    .filter((name) => !bugs[name] || OUTSIDE_FILES.some(([pattern]) => pattern.test(bugs[name].file)))

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
