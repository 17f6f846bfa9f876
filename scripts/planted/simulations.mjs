// Planted bugs in simulated worlds: each gets the same seeds, until one breaks a rule or the time is over.
import { runProgram } from './runs.mjs'

// Seconds are those of one core; a machine may have other things to do.
const SLOWEST = 20
const PRELOAD = `--import ${new URL('./preload.mjs', import.meta.url).href}`

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
  [/^(otel|bullmq|nestjs|board|cli)\//, 'of an integration'],
]

/** The others, by name: a list of words would take along what it was not meant for. */
const OUTSIDE_NAMES = {
  'of a transaction on a shared connection': [
    'the last level stays when a re-entry was undone in a transaction',
    'what waits in a transaction is sent again and again',
    'QUEUED is taken for an answer',
  ],
  'of an order on which core does not depend: whatever it hears, a broken connection is an unknown outcome': [
    'a failed command is told of before its connection counts as broken',
  ],
  'of red locks, which are not simulated': [
    'a node joins a hold of a RedLock whose majority has ended',
    'a node that was taken again is not the one that a callback re-enters',
    'a hold of a RedLock takes no node again',
  ],
  'of a reply of an unknown shape, which the engine does not give': ['whatever is answered is believed'],
  'of leases that are shortened, which no caller does': [
    'a lease that was shortened is trusted for as long as before',
    'a lease is trusted again while a copy of what shortened it may arrive',
    'an earlier end of a permit counts when it is answered',
  ],
  'of settings that no world has': [
    'leases of different lengths are renewed together',
    'a client that seldom asks again counts as dead',
    'a lock is given although somebody listens who would never be told',
    'the waitMs of a client limits no wait',
    'the leaseMs of a client is no lease',
  ],
  'of a machine that sleeps, a Java client, and a client that is closed during its calls, which no world has':
    [
      'a grant is trusted although the machine slept',
      'a Java client is counted in place of a waiter that has died',
      'a client closes while the release of a last level has no answer',
      'a call without an answer outlives its client',
    ],
  'of calls that no caller makes': [
    'a lock without a token is passed to whoever wants one',
    'a non-reentrant lock re-enters',
    'a caller that was ended by another with the same signal is ended again',
    'force-release of one holder takes the lock from any',
    'force-release of one reader takes the lock from all',
    'who has a part of the locks waits for who wants them',
    'who waits for several locks hears one after the other that nobody answers',
    'more permits make a semaphore outlive what is kept of them',
  ],
  'of how much it costs': [
    'callers that want the same locks all ask for them',
    'the result of withLock waits for its release',
    'renewals leave one on the answer of the other however far away Redis is',
    'a spin lock does not count its refusals',
    'a spin lock says when it is released',
    'who comes back to a fair lock goes back alone',
  ],
  'of Sentinel or a cluster': [
    'what a moving slot refuses is told at once',
    'a time that is over between two tries counts as no answer',
    'where a slot is going nobody is asked, with acks',
    'behind Sentinel trust goes on while there is no connection',
    'what a Sentinel says of a switch is heard when the former primary has answered',
    'a client that its failoverDetector has ended stays ended',
    'one script for all slots',
    'locks of all slots are renewed together',
    'what ioredis listens on at the Sentinels keeps a process alive',
  ],
  'of what other programs leave in Redis': [
    'a key of another type under the name keeps the tombstone away',
    'a re-entry that finds a string is refused, and its levels go on',
    'a waiter behind a string looks without a pause',
    'a forced release deletes a string',
    'an acquire writes over a string',
    'a wait behind a string without a time to live never ends',
    'nobody of a fair lock looks whether the string is gone',
    'who leaves behind a string keeps its place in the line of a plain lock',
    'a lock counts as free while a string has its name',
    'something of another type in the line of a fair lock makes its release a loss',
    'a Java thread is taken for dead with another thread of its client',
  ],
  'of writes that replicas acknowledge': [
    'a lease counts that too few replicas have',
    'what the primary says adds trust that no replica knows of',
    'what was given up is sent behind replicas that are late',
  ],
  'of what is told, and to whom': [
    'an error in a script of Redis 6.2 is read from its beginning',
    'a command after a rest does not keep the process alive',
    'a wrong password is tried again',
    'who has no listener of errors is told no reason',
    'a wait tells the time of its last try',
    'a renewal that failed before another came through is the reason of a loss',
    'what was handed over is published in the context of who did',
    'who is refused several locks is told before they are free',
    'who stops wanting several locks is told before what was on its way is undone',
    'a time-out knows only what its own call was told',
    'a forgotten await is not told of',
    'a forgotten await is told of where none was',
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

const kindsFor = ({ file }) => KINDS.find(([pattern]) => pattern.test(file))?.[1] ?? 'all'

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
