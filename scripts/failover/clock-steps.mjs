import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { Redis } from 'ioredis'
import { observeLines } from './lines-after-step.mjs'
import { observeOverlap } from './overlap-after-step.mjs'
import { startSteppedServer } from './stepped-clock.mjs'

const HOUR_S = 3_600
const LIMIT_MS = 3_000
const FIXED_LEASE_MS = 2_000

/**
 * Sets the clock of a Redis an hour forward and back while locks are held.
 *
 * @param {{ leaseMs: number, allowanceMs: number }} promised
 * @param {AbortSignal} signal ends it
 * @returns {Promise<{ text: string, broken: number }>}
 */
export const stepClock = async (promised, signal) => {
  const results = []
  const steps = [
    ...[HOUR_S, -HOUR_S].map((seconds) => ({ seconds, observe: observeStep })),
    { seconds: HOUR_S, observe: observeOverlap },
    ...[-HOUR_S, -20].map((seconds) => ({ seconds, observe: observeLines })),
  ]
  for (const { seconds, observe } of steps) {
    signal.throwIfAborted()
    const stepped = await startSteppedServer()
    if (stepped === undefined)
      return { text: "clock of Redis: not run, 'faketime' is not installed", broken: 0 }
    try {
      results.push(await observe(stepped, seconds, { ...promised, signal }))
    } finally {
      await stepped.stop()
    }
  }
  return {
    text: results.map(({ text }) => text).join('\n'),
    broken: results.reduce((sum, { broken }) => sum + broken, 0),
  }
}

const observeStep = async ({ server, step }, seconds, { leaseMs, allowanceMs, signal }) => {
  const connections = [new Redis(server.url), new Redis(server.url)]
  const options = { lockWatchdogTimeout: leaseMs, bareCalls: 'allow' }
  const [holder, rival] = await Promise.all(connections.map((redis) => LockClient.connect(redis, options)))
  try {
    const watched = await holder.getLock('watched').acquire()
    const fixed = await holder.getLock('fixed').acquire({ leaseMs: FIXED_LEASE_MS })
    const taking = [watched, fixed].map((hold) => rival.getLock(hold.lockName).acquire())
    // The line is formed: whoever comes later would not have slept at the old time.
    await sleep(leaseMs / 6)
    const before = await clockOf(server)
    await step(seconds)
    const steppedAt = performance.now()
    const movedS = Math.round((await clockOf(server)) - before)
    if (movedS !== seconds) throw new Error(`the clock of Redis moved by ${movedS} s, not by ${seconds} s`)
    const ttlMs = Number(await server.command('PTTL', 'watched'))
    const limit = sleep(LIMIT_MS, undefined, { signal, ref: false })
    const outcomes = await Promise.all(
      [watched, fixed].map((hold, i) => outcomeOf(hold, taking[i], { steppedAt, limit })),
    )
    return seconds > 0
      ? forward(outcomes, leaseMs / 3 + allowanceMs)
      : await back(outcomes, { ttlMs, watched, taking: taking[0], steppedAt })
  } finally {
    await Promise.all([holder, rival].map((client) => client.close({ graceMs: 0 })))
    connections.forEach((redis) => redis.disconnect())
  }
}

const clockOf = async (server) => Number((await server.command('TIME'))[0])

const outcomeOf = async (hold, taking, { steppedAt, limit }) => {
  const seen = { takenMs: null, toldMs: null, reason: null }
  const since = () => performance.now() - steppedAt
  const taken = taking.then(
    () => (seen.takenMs = since()),
    () => undefined,
  )
  const told = new Promise((resolve) => hold.signal.addEventListener('abort', resolve, { once: true }))
  void told.then(() => {
    seen.toldMs = since()
    seen.reason = hold.lossError.reason
  })
  await Promise.race([Promise.all([taken, told]), limit])
  return { ...seen }
}

const ms = (value) => (value === null ? 'never' : `after ${Math.round(value)} ms`)
const told = ({ toldMs, takenMs, reason }) =>
  `the next has it ${ms(takenMs)}, the holder is told ${ms(toldMs)}${reason === null ? '' : ` (${reason})`}`

const forward = ([watched, fixed], limitMs) => {
  const broken = watched.toldMs === null || watched.toldMs > limitMs || watched.takenMs === null
  const lines = [
    'the clock of Redis goes 1 h forward while a lock is held',
    `  renewed         ${told(watched)}`,
    `  fixed lease     ${told(fixed)}; ${FIXED_LEASE_MS} ms from its acquire`,
  ]
  return { text: lines.join('\n'), broken: Number(broken) }
}

const back = async ([renewed, fixed], { ttlMs, watched, taking }) => {
  const stillOurs = watched.signal.aborted === false && renewed.takenMs === null
  const releasedAt = performance.now()
  const outcome = await watched.release()
  await taking
  const lines = [
    'the clock of Redis goes 1 h back while a lock is held',
    `  renewed         ${told(renewed)}, within ${LIMIT_MS} ms; its time to live was ${Math.round(ttlMs / 1_000)} s`,
    `                  ${outcome}; the next has it ${ms(performance.now() - releasedAt)}`,
    `  fixed lease     ${told(fixed)}; ${FIXED_LEASE_MS} ms from its acquire`,
  ]
  return { text: lines.join('\n'), broken: Number(!stillOurs || outcome !== 'released') }
}
