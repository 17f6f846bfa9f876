// Requests that come whether or not those before them were served.
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { connect, optionsFor } from '../connection.mjs'

const KINDS = {
  'fair lock': (locks, name) => locks.getFairLock(name),
  'plain lock': (locks, name) => locks.getLock(name),
}

export const ARRIVAL_KINDS = Object.keys(KINDS)

let place = null

export const openArrivals = async ({ url }) => {
  const redis = await connect(optionsFor(url, false))
  place = { redis, locks: await LockClient.connect(redis) }
}

export const closeArrivals = async () => {
  await place.locks.close({ graceMs: 0 })
  place.redis.disconnect()
}

/** @returns how long each call waited, ms, by its end: LOCK_BUSY, LOCK_TIMEOUT, or served */
export const takeArrivals = async ({ kind, name, everyMs, afterMs, ms, holdMs, limits }) => {
  const lock = KINDS[kind](place.locks, name)
  const ends = { served: [], LOCK_BUSY: [], LOCK_TIMEOUT: [] }
  const call = async () => {
    const at = performance.now()
    try {
      await lock.withLock(async () => {
        ends.served.push(performance.now() - at)
        await sleep(holdMs)
      }, limits)
    } catch (error) {
      if (!(error.code in ends)) throw error
      ends[error.code].push(performance.now() - at)
    }
  }
  const calls = []
  const from = performance.now() + afterMs
  for (let next = from; next < from + ms; next += everyMs) {
    await sleep(Math.max(0, next - performance.now()))
    calls.push(call())
  }
  await Promise.all(calls)
  return ends
}
