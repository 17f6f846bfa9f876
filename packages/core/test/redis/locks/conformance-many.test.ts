import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import type { LockClient } from '../../../src/index.js'
import { CriticalSection, oneAfterAnother } from '../support/critical-section.js'
import { eventually, useRig } from '../support/rig.js'
import { reentrantKinds } from '../support/lock-kinds.js'

// Redisson's own tests assert this of many threads that want one lock (RedissonLockTest, -HeavyTest, and the like of
// other kinds). A thread of theirs is a context, or a client of its own.

describe.each(reentrantKinds.filter((kind) => kind.excludesItself))(
  'conformance, many callers: $name',
  (kind) => {
    const rig = useRig({ redis: 'all' })
    const times = <T>(count: number, make: (i: number) => T): T[] =>
      Array.from({ length: count }, (_, i) => make(i))
    // A waiter that is granted a lock has two of these to take it, and a process may stand still for seconds.
    const clients = (count: number): Promise<LockClient[]> =>
      Promise.all(times(count, () => rig.client({ resyncInterval: 15_000 })))

    it('16 flows of tryLock and unlock: no overlap, and a lock held all the while is renewed', async () => {
      const clock = new ManualClock()
      // Nothing is late, however long the machine takes: the test alone moves this clock.
      const patient = { commandTimeout: 60_000, unavailableTimeoutMs: 60_000 }
      const locks = await rig.client({ runtime: clock, ...patient })
      const held = await kind.of(locks, rig.name('held')).acquire()
      const lock = kind.of(locks, rig.name())
      const section = new CriticalSection(rig.admin, rig.name('counter'))
      let [successes, isOver] = [0, false]
      const flow = async (): Promise<void> => {
        while (!isOver) {
          if (await lock.tryLock()) {
            successes += 1
            await section.enter()
            await lock.unlock()
          }
        }
      }
      const flows = Promise.all(times(16, () => locks.run(flow)))
      await eventually(() => successes > 100, 60_000)
      await clock.advance(10_000)
      await eventually(() => held.trustedForMs > 25_000, 60_000)
      isOver = true
      await flows
      expect(await section.result()).toEqual(oneAfterAnother(successes))
      expect(await lock.isLocked()).toBe(false)
      expect(held.signal.aborted).toBe(false)
      await held.verify()
      await held.release()
    })

    it('8 clients, 50 rounds each: all get their turns and the counter is exact (I1)', async () => {
      const section = new CriticalSection(rig.admin, rig.name('counter'))
      const flow = async (locks: LockClient): Promise<void> => {
        const lock = kind.of(locks, rig.name())
        for (let round = 0; round < 50; round += 1) {
          await lock.lock()
          await section.enter()
          await lock.unlock()
        }
      }
      await Promise.all((await clients(8)).map(flow))
      expect(await section.result()).toEqual(oneAfterAnother(400))
    })

    it('2,000 lock and unlock over 5 names by 32 flows: no error, and no channel stays subscribed (I5)', async () => {
      const both = await clients(2)
      const flow = async (locks: LockClient, first: number): Promise<void> => {
        for (let i = first; i < 2_000; i += 32) {
          const lock = kind.of(locks, rig.name(`lock${i % 5}`))
          await lock.lock()
          await lock.unlock()
        }
      }
      await Promise.all(times(32, (i) => both[i % 2]!.run(() => flow(both[i % 2]!, i))))
      await eventually(async () => (await rig.admin.pubsub('CHANNELS', `*${rig.name('')}*`)).length === 0)
      expect(await rig.keysLeft()).toEqual([])
    })
  },
)
