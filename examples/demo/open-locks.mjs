import { LockClient } from '@holdfast/core'
import { exclusive } from '@holdfast/core/schedule'
import { LOCK_IS_BROKEN } from './settings.mjs'

/**
 * The client that the demo is about. HOLDFAST_DEMO_LOCK=broken puts one in its place that lets everybody in, so
 * that the claims can be seen to fail.
 *
 * @param {string} redisUrl
 * @param {import('@holdfast/core').LockClientOptions} options
 */
export const openLocks = async (redisUrl, options) =>
  LOCK_IS_BROKEN ? brokenLocks : LockClient.connect(redisUrl, options)

const brokenHold = {
  owner: 'nobody',
  signal: { aborted: false, addEventListener: () => undefined },
  release: async () => 'released',
}
const brokenLock = {
  acquire: async () => brokenHold,
  tryLock: async () => true,
  unlock: async () => undefined,
  withLock: async (callback) => callback(brokenHold),
}
const brokenLocks = { getLock: () => brokenLock, on: () => undefined, close: async () => undefined }

/** `exclusive`, or one that lets everybody in. */
export const scheduleOn = (locks, name, task) =>
  LOCK_IS_BROKEN ? ({ tick }) => task({ tick, missed: [] }) : exclusive(name, { locks }, task)
