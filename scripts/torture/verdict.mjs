import { checkHistory, formatViolation } from '@holdfast/testing'
import { missedHandOffs } from './hand-off.mjs'
import { unexplainedLosses } from './unexplained-losses.mjs'

// What may come on top of a caller's own limit: a command that times out (400 ms), a resync (300 ms), the patience
// of short waits (250 ms), and a machine that is busy with three processes and their faults.
const LIVENESS = { deadlineMs: 2_500, graceMs: 2_000 }
// An answer may be held up by the slowest wire, and by a process that stood still for three leases.
const GRANT_LAG_MS = 5_000
const HAND_OFF = { limitMs: 1_000, calmMs: 500 }
const MOST_SHOWN = 5

/** What a run left in Redis. Latches end by themselves. */
export const leftBehind = async (redis) => ({
  keys: (await redis.command('KEYS', '*')).filter((key) => !key.startsWith('holdfast:latch:')),
  channels: await redis.command('PUBSUB', 'CHANNELS'),
  timers: 0,
})

/** @param {object[]} events @returns {{ text: string, violations: number }} */
export const verdict = (events) => {
  const report = checkHistory(events, { liveness: LIVENESS, grantLagMs: GRANT_LAG_MS })
  const { excused, figures } = report
  const violations = [
    ...report.violations,
    ...missedHandOffs(events, HAND_OFF).map(missedHandOff),
    ...unexplainedLosses(events, { grantLagMs: GRANT_LAG_MS }).map(unexplainedLoss),
  ]
  const count = (kind) => events.filter((event) => event.kind === kind).length
  const lines = [
    `${figures.acquisitions} acquisitions, ${count('refused')} refusals, ${count('aborted')} aborts, ` +
      `${count('failed')} without an answer, ${figures.losses} losses, ${figures.faults} faults`,
    `longest wait ${Math.round(figures.longestWaitMs)} ms, longest after healing ${Math.round(figures.longestWaitAfterHealMs)} ms`,
    `${excused.length} overlaps and refusals explained by data that Redis lost`,
    ...shortestFirst(violations)
      .slice(0, MOST_SHOWN)
      .map((each) => `\n${formatViolation(each)}`),
    violations.length === 0 ? 'No violation.' : `\n${violations.length} violations.`,
  ]
  return { text: lines.join('\n'), violations: violations.length }
}

const missedHandOff = ({ begin, released }) => ({
  check: 'hand-off',
  invariant: 'I4',
  lock: released.lock,
  message: `free for ${HAND_OFF.limitMs} ms while ${begin.attempt} waited`,
  events: [begin, released],
})

const unexplainedLoss = ({ acquired, lost }) => ({
  check: 'loss',
  invariant: 'I1',
  lock: lost.lock,
  message: `${lost.owner} lost it while it was trusted, and Redis had lost nothing`,
  events: [acquired, lost],
})

const shortestFirst = (violations) => violations.toSorted((a, b) => a.events.length - b.events.length)
