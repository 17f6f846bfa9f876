import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/testing'
import { nowMs } from '../shared-clock.mjs'

let locks
let leaseMs
const holds = new Map()

/** One grant: since when it was wanted, and when it came. */
const granted = async (lock, options) => {
  const beganAt = nowMs()
  const hold = await locks.getLock(lock).acquire(options)
  return { hold, beganAt, acquiredAt: nowMs() }
}

/** When somebody was told that the lock is free. */
const given = async (hold) => {
  const beganAt = nowMs()
  const outcome = await hold.release()
  if (outcome !== 'released')
    throw new Error(`${hold.lockName} was ${outcome} when ${hold.owner} gave it back`)
  return { beganAt, answeredAt: nowMs() }
}

/** A head of the line that leaves after some milliseconds, maybe while the lock is being handed to it. */
const impatient = async (lock, patienceMs) => {
  try {
    const { hold, ...times } = await granted(lock, { signal: globalThis.AbortSignal.timeout(patienceMs) })
    return [{ ...times, released: await given(hold) }]
  } catch (error) {
    if (error.name !== 'TimeoutError') throw error
    return []
  }
}

serveWorker({
  async open(settings) {
    leaseMs = settings.leaseMs
    locks = await LockClient.connect(`redis://127.0.0.1:${settings.port}`, {
      clientName: settings.name,
      lockWatchdogTimeout: leaseMs,
      resyncInterval: settings.resyncMs,
      bareCalls: 'allow',
    })
  },

  /** Waits until the lock is ours; tells of every grant on the way. */
  async take(lock, patienceMs) {
    const ahead = patienceMs > 0 ? impatient(lock, patienceMs) : []
    const mine = granted(lock, { waitMs: leaseMs })
    const [before, { hold, ...times }] = await Promise.all([ahead, mine])
    holds.set(lock, hold)
    return [...before, times]
  },

  async giveBack(lock, afterMs) {
    await sleep(afterMs)
    return given(holds.get(lock))
  },

  close: () => locks.close(),
})
