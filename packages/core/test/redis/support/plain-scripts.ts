import type { ScriptRunner } from '../../../src/redis/script-runner.js'
import {
  acquire,
  forceRelease,
  releaseCall,
  type AcquireArguments,
  type ReleaseArguments,
} from '../../../src/scripts/lock.js'

export const NAME = 'order:42'
export const CHANNEL = 'redisson_lock__channel:{order:42}'
export const OWNER = 'a~1:1'
export const OTHER = 'b~1:9'
export const TOMBSTONE = `holdfast:latch:{order:42}:${OWNER}`
export const LEASE_MS = 30_000

export const stamp = (sequence: number, tombstoneThrough = 0) => ({ sequence, tombstoneThrough })

/** The scripts of a plain lock as one owner would run them: its first acquire, its full release, but for a change. */
export function plainScripts(runner: () => ScriptRunner) {
  const lock = { lockName: NAME, key: NAME, tombstoneKey: TOMBSTONE, owner: OWNER }
  return {
    acquireAs: (change: Partial<AcquireArguments> = {}) =>
      acquire(runner(), { ...lock, holds: 1, leaseMs: LEASE_MS, stamp: stamp(1), ...change }),
    releaseAs: (change: Partial<ReleaseArguments> = {}) => {
      const waking = { queueKey: 'holdfast:line:{order:42}', channel: CHANNEL }
      const command = { ...lock, ...waking, holds: 0, stamp: stamp(2), ...change }
      return runner().run(releaseCall(runner(), command))
    },
    force: (key = NAME, holder?: string) => {
      const inboxPrefix = 'holdfast:client:'
      const named = { owners: holder === undefined ? [] : [holder], isOfCaller: true }
      return forceRelease(runner(), { lockName: NAME, key, channel: CHANNEL, inboxPrefix, named })
    },
  }
}
