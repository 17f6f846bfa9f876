import { checkHistory, formatViolation } from '@holdfast/testing'
import { setTimeout as sleep } from 'node:timers/promises'
import { kindOf, KINDS, tokensOf } from './lock-names.mjs'

const LIMITS = {
  // What may come on top of a caller's own limit: a command that times out (400 ms), a resync (300 ms), the patience
  // of short waits (250 ms), and a machine that is busy with three processes and their faults.
  liveness: { deadlineMs: 2_500, graceMs: 2_000 },
  handOff: { limitMs: 1_000, calmMs: 500 },
  // An answer may be held up by the slowest wire, and by a process that stood still for three leases.
  grantLagMs: 5_000,
  // Redis sees calls of different processes in the order of their beginnings only when nothing holds one of them up
  // for longer than the slack: neither a fault on their way, nor a busy machine.
  fifo: {
    maxOvertakes: 0,
    slackMs: 150,
    calmMs: 500,
    locks: (lock) => kindOf(lock) === 'fair',
    excuses: ({ target }) => target === undefined,
  },
  lastingTokens: (lock) => tokensOf(lock) === 'time',
}
const MOST_SHOWN = 5
const POLL_MS = 100
const LINE_MS = 500

/**
 * What a run left in Redis. Latches end by themselves; the counters of fenced locks stay on purpose. The time-outs of
 * readers that were killed or had their lock taken away end with their lease; so does the line of a plain lock, or a
 * moment after the last release.
 */
export const leftBehind = async (redis, { leaseMs }) => {
  const channels = await redis.command('PUBSUB', 'CHANNELS')
  const endsAt = performance.now() + leaseMs + LINE_MS
  let keys = await keysLeft(redis)
  while (keys.some((key) => /:rwlock_timeout:\d+$|^holdfast:line:/.test(key)) && performance.now() < endsAt) {
    await sleep(POLL_MS)
    keys = await keysLeft(redis)
  }
  return { keys, channels, timers: 0 }
}

const keysLeft = async (redis) =>
  (await redis.command('KEYS', '*')).filter((key) => !/^(holdfast:latch|redisson_lock_token):/.test(key))

/** @param {object[]} events @returns {{ text: string, violations: number }} */
export const verdict = (events) => {
  const { violations, excused, figures } = checkHistory(events, LIMITS)
  const count = (kind) => events.filter((event) => event.kind === kind).length
  // What the processes themselves note, such as that they start, is done by nobody.
  const faults = events.filter(({ kind, process }) => kind === 'fault' && process === 'torture').length
  const guarded = events.filter((event) => event.kind === 'write' && event.token !== undefined)
  const refused = guarded.filter(({ accepted }) => !accepted)
  const lines = [
    `${figures.acquisitions} acquisitions, ${count('refused')} refusals, ${count('aborted')} aborts, ` +
      `${count('failed')} without an answer, ${figures.losses} losses, ${faults} faults`,
    `by kind: ${KINDS.map((kind) => `${ofKind(events, kind)} ${kind}`).join(', ')}`,
    `${guarded.length} guarded writes, ${refused.length} of them refused`,
    `longest wait ${Math.round(figures.longestWaitMs)} ms, longest after healing ${Math.round(figures.longestWaitAfterHealMs)} ms`,
    `explained by faults: ${countsByCheck(excused)}`,
    ...shortestFirst(violations)
      .slice(0, MOST_SHOWN)
      .map((each) => `\n${formatViolation(each)}`),
    violations.length === 0 ? 'No violation.' : `\n${violations.length} violations.`,
  ]
  return { text: lines.join('\n'), violations: violations.length }
}

const ofKind = (events, kind) =>
  events.filter((event) => event.kind === 'acquired' && kindOf(event.lock) === kind).length

const countsByCheck = (findings) => {
  const counts = new Map()
  for (const { check } of findings) counts.set(check, (counts.get(check) ?? 0) + 1)
  return [...counts].map(([check, count]) => `${count} ${check}`).join(', ') || 'nothing'
}

const shortestFirst = (violations) => violations.toSorted((a, b) => a.events.length - b.events.length)
