import { setTimeout as sleep } from 'node:timers/promises'

const KILL_EVERY_MS = 100
const DROP_EVERY_NTH = 10

/** Kills every connection that listens for messages, again and again. */
const killing = ({ admin }) => {
  const over = new AbortController()
  const counts = { rounds: 0, killed: 0 }
  const loop = async () => {
    while (!over.signal.aborted) {
      counts.killed += await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
      counts.rounds += 1
      await sleep(KILL_EVERY_MS, undefined, { signal: over.signal }).catch(() => undefined)
    }
  }
  const running = loop()
  return async () => {
    over.abort()
    await running
    return counts
  }
}

const dropping = ({ proxy }) => {
  const fault = proxy.dropPushes(DROP_EVERY_NTH)
  return async () => {
    fault.cancel()
    return { dropped: fault.count }
  }
}

const FAULTS = { killing, dropping }

/**
 * Begins what harms messages and leaves commands alone. Gives what ends it and tells how often it happened.
 *
 * @param {{ kills: boolean, drops: boolean }} phase
 * @param {{ admin: import('ioredis').Redis, proxy: import('@holdfast/testing').FaultProxy }} target
 */
export const begin = ({ kills, drops }, target) => {
  const ends = [kills && FAULTS.killing, drops && FAULTS.dropping]
    .filter(Boolean)
    .map((start) => start(target))
  return async () => {
    const counts = await Promise.all(ends.map((end) => end()))
    return Object.assign({ rounds: 0, killed: 0, dropped: 0 }, ...counts)
  }
}
