// Calls that are answered from memory one after the other, and a timer beside them.
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { lateTimers } from './flows.mjs'

const nothing = async () => undefined

/** Takes one lock again and again, by so many callers. */
const passing = (callers) => (lock, isOver) =>
  Promise.all(
    Array.from({ length: callers }, async () => {
      while (!isOver()) await lock.withLock(nothing)
    }),
  )

const LEVELS = (lock, isOver) =>
  lock.withLock(async () => {
    while (!isOver()) await lock.withLock(nothing)
  })

const CHAINS = {
  'levels of one hold, localReentry': LEVELS,
  'two callers, one lock': passing(2),
  '32 callers, one lock': passing(32),
}

export const CHAIN_NAMES = Object.keys(CHAINS)

/** How late a timer of 1 ms is beside a chain, and beside nothing. @returns {Promise<{ late: number[], idle: number[] }>} ms */
export const timersBesideChain = async ({ chain, url, name, ms }) => {
  const locks = await LockClient.connect(url, { localReentry: true })
  const lock = locks.getLock(name)
  const forMs = (duration) => {
    const until = performance.now() + duration
    return CHAINS[chain](lock, () => performance.now() >= until)
  }
  await forMs(ms / 4)
  const idle = await lateTimers(() => sleep(ms))
  const late = await lateTimers(() => forMs(ms))
  await locks.close()
  return { late, idle }
}
