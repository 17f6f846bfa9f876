import { expect } from '@jest/globals'
import { seededRandom } from '@holdfast/faults/harness'
import type { Redis } from 'ioredis'
import { RedisUnavailableError, WrongTypeError, type AnyLock, type LockClient } from '../../../src/index.js'
import { forceReleaseScript as fairForce } from '../../../src/scripts/fair-lock.js'
import { forceReleaseScript, inspect, renew } from '../../../src/scripts/lock.js'
import { forceReleaseScript as readWriteForce } from '../../../src/scripts/read-write-lock.js'
import { reentrantKinds, type LockKind } from '../support/lock-kinds.js'
import { failureOf } from '../support/outcomes.js'
import { MessageLog } from '../support/message-log.js'
import { runsAnything, runsOf } from '../support/requests.js'
import {
  CHANNEL,
  TOMBSTONE,
  LEASE_MS,
  NAME,
  OTHER,
  OWNER,
  plainScripts,
  stamp,
} from '../support/plain-scripts.js'
import { eventually, signalled, soon } from '../support/rig.js'
import { describe, it, own, useRig } from '../support/together.js'

const rig = useRig()
const runner = own(() => rig.runner())

const { acquireAs, releaseAs, force } = plainScripts(() => runner)
const renewAs = (owner = OWNER, key = NAME) => renew(runner, { locks: [{ key, owner }], leaseMs: LEASE_MS })
const look = (key = NAME) => inspect(runner, { lockName: NAME, key })

/** Every script that is about one lock, as some client would run it. */
const everyScript: [string, (key?: string) => Promise<unknown>][] = [
  ['acquire', (key = NAME) => acquireAs({ key })],
  ['acquire after a broken connection', (key = NAME) => acquireAs({ key, stamp: stamp(3, 2) })],
  ['acquire, re-entering', (key = NAME) => acquireAs({ key, holds: 2 })],
  ['release, partial', (key = NAME) => releaseAs({ key, holds: 1 })],
  ['release, full', (key = NAME) => releaseAs({ key })],
  ['release after a broken connection', (key = NAME) => releaseAs({ key, stamp: stamp(3, 2) })],
  ['force-release', force],
  ['inspect', look],
]

const holds = () => rig.admin.hgetall(NAME)

describe('a script that runs twice with one stamp (I2)', () => {
  it('acquire: one hold', async () => {
    expect([await acquireAs(), await acquireAs()]).toEqual([{ kind: 'acquired' }, { kind: 'acquired' }])
    expect(await holds()).toEqual({ [OWNER]: '1' })
    await force()
  })

  it('re-entry: two holds', async () => {
    await acquireAs()
    const again = { holds: 2, stamp: stamp(2) }
    expect([await acquireAs(again), await acquireAs(again)]).toEqual([
      { kind: 'acquired' },
      { kind: 'acquired' },
    ])
    expect(await holds()).toEqual({ [OWNER]: '2' })
    await force()
  })

  it('partial release: one level less', async () => {
    await acquireAs({ stamp: stamp(1) })
    await acquireAs({ holds: 2, stamp: stamp(2) })
    await acquireAs({ holds: 3, stamp: stamp(3) })
    const lower = { holds: 2, stamp: stamp(4) }
    expect([await releaseAs(lower), await releaseAs(lower)]).toEqual([
      { kind: 'still-held' },
      { kind: 'still-held' },
    ])
    expect(await holds()).toEqual({ [OWNER]: '2' })
    await force()
  })

  it('full release: the lock is free, the second finds nothing and says nothing', async () => {
    const log = await MessageLog.open(rig.connection(), rig.admin)
    await acquireAs()
    expect([await releaseAs(), await releaseAs()]).toMatchObject([{ kind: 'released' }, { kind: 'not-held' }])
    expect(await rig.contents()).toEqual({})
    expect(await log.take()).toEqual([[CHANNEL, '0']])
  })

  it('full release deletes whatever the count is', async () => {
    await acquireAs()
    await acquireAs({ holds: 5, stamp: stamp(2) })
    expect(await releaseAs({ stamp: stamp(3) })).toMatchObject({ kind: 'released' })
    expect(await rig.contents()).toEqual({})
  })

  it('force-release: the second hits nobody who came in between', async () => {
    await acquireAs()
    expect([await force(), await force()]).toEqual([{ kind: 'released', owners: 1 }, { kind: 'not-held' }])
  })

  it('force-release of one owner: the second hits nobody who came in between', async () => {
    await acquireAs()
    expect(await force(NAME, OWNER)).toEqual({ kind: 'released', owners: 1 })
    await rig.admin.hset(NAME, 'b~1:9', '1')
    expect(await force(NAME, OWNER)).toEqual({ kind: 'held-by-another' })
    expect(await holds()).toEqual({ 'b~1:9': '1' })
    await force()
  })

  it('renew: renewed twice, the count stays', async () => {
    await acquireAs()
    expect([await renewAs(), await renewAs()]).toEqual([['renewed'], ['renewed']])
    expect(await holds()).toEqual({ [OWNER]: '1' })
    await force()
  })
})

describe('a copy that arrives late (I2)', () => {
  it('a late copy of an acquire, after a release that left a tombstone: refused, nothing created', async () => {
    await acquireAs()
    expect(await releaseAs({ stamp: stamp(2, 1) })).toMatchObject({ kind: 'released' })
    expect(await acquireAs()).toEqual({ kind: 'superseded' })
    expect(await rig.contents()).toEqual({ [TOMBSTONE]: { type: 'string', value: '1' } })
  })

  it('a late copy of an acquire, after an undo that found nothing yet: refused all the same', async () => {
    expect(await releaseAs({ stamp: stamp(2, 1) })).toEqual({ kind: 'not-held' })
    expect(await acquireAs()).toEqual({ kind: 'superseded' })
    expect(Object.keys(await rig.contents())).toEqual([TOMBSTONE])
  })

  it('the tombstone outlives what comes after it, with minutes to go', async () => {
    await acquireAs()
    await releaseAs({ stamp: stamp(2, 1) })
    await acquireAs({ owner: OTHER, tombstoneKey: `holdfast:latch:{order:42}:${OTHER}` })
    await renewAs(OTHER)
    await force()
    await releaseAs({ stamp: stamp(2) })
    expect(await rig.admin.get(TOMBSTONE)).toBe('1')
    expect(await rig.admin.pttl(TOMBSTONE)).toBeGreaterThan(60_000)
    expect(await acquireAs()).toEqual({ kind: 'superseded' })
  })

  it('the tombstone refuses copies only: the next command of the same owner goes through', async () => {
    await releaseAs({ stamp: stamp(2, 1) })
    expect(await acquireAs({ stamp: stamp(3, 2) })).toEqual({ kind: 'acquired' })
    expect(await acquireAs({ stamp: stamp(2) })).toEqual({ kind: 'superseded' })
    expect(await holds()).toEqual({ [OWNER]: '1' })
    await force()
  })

  it.each([0, 1])(
    'a late copy of a release to %i, of an acquisition that has ended: matches nobody',
    async (keep) => {
      await acquireAs()
      await releaseAs()
      await acquireAs({ owner: OTHER })
      expect(await releaseAs({ holds: keep })).toEqual({ kind: 'not-held' })
      expect(await holds()).toEqual({ [OTHER]: '1' })
      await force()
    },
  )

  it('a late copy of a partial release, after a re-entry that knows of it: superseded, the count stays', async () => {
    await acquireAs()
    await acquireAs({ holds: 2, stamp: stamp(2) })
    const lower = { holds: 1, stamp: stamp(3) }
    await releaseAs(lower)
    await acquireAs({ holds: 2, stamp: stamp(4, 3) })
    expect(await releaseAs(lower)).toEqual({ kind: 'superseded' })
    expect(await holds()).toEqual({ [OWNER]: '2' })
    await force()
  })

  it('a late copy of a re-entry, after a partial release that knows of it: superseded, the count stays', async () => {
    await acquireAs()
    const reenter = { holds: 2, stamp: stamp(2) }
    await acquireAs(reenter)
    await releaseAs({ holds: 1, stamp: stamp(3, 2) })
    expect(await acquireAs(reenter)).toEqual({ kind: 'superseded' })
    expect(await holds()).toEqual({ [OWNER]: '1' })
    await force()
  })

  it('a late copy of a re-entry, after the full release: lost, nothing created (I6)', async () => {
    await acquireAs()
    const reenter = { holds: 2, stamp: stamp(2) }
    await acquireAs(reenter)
    await releaseAs({ stamp: stamp(3) })
    expect(await acquireAs(reenter)).toEqual({ kind: 'lost' })
    expect(await rig.contents()).toEqual({})
  })

  it('a late copy of a renewal or an extension, of an owner that has ended: creates nothing (I6)', async () => {
    await acquireAs()
    await releaseAs()
    expect(await renewAs()).toEqual(['lost'])
    expect(await rig.contents()).toEqual({})
    await acquireAs({ owner: OTHER, leaseMs: 5_000 })
    expect(await renewAs()).toEqual(['lost'])
    expect(await holds()).toEqual({ [OTHER]: '1' })
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(5_000)
    await force()
  })
})

describe('a key of another type', () => {
  const foreign: [string, (redis: Redis) => Promise<unknown>][] = [
    ['string', (redis) => redis.set(NAME, 'mine', 'PX', 50_000)],
    ['list', (redis) => redis.rpush(NAME, 'a', 'b')],
    ['set', (redis) => redis.sadd(NAME, 'a', 'b')],
    ['zset', (redis) => redis.zadd(NAME, 1, 'a')],
    ['stream', (redis) => redis.xadd(NAME, '1-1', 'field', 'value')],
  ]

  it.each(foreign)(
    '%s: every script refuses with WRONG_TYPE and leaves it as it is',
    async (_type, create) => {
      await create(rig.admin)
      const before = await rig.admin.dumpBuffer(NAME)
      for (const [, run] of everyScript) {
        const failure = await run().catch((error: unknown) => error)
        expect(failure).toBeInstanceOf(WrongTypeError)
        expect(failure).toMatchObject({ code: 'WRONG_TYPE', lockName: NAME, key: NAME })
        expect(String(failure)).toMatch(/WRONGTYPE.*wrong kind of value/)
      }
      // One answer for each of many locks: this one is lost.
      expect(await renewAs()).toEqual(['lost'])
      expect(await rig.admin.dumpBuffer(NAME)).toEqual(before)
      await rig.admin.del(NAME, TOMBSTONE)
    },
  )
})

describe('out of memory', () => {
  it.each(everyScript.slice(0, 2))('%s fails clearly and creates nothing', async (_name, run) => {
    await rig.outOfMemory(async () => {
      const failure = await run().catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(RedisUnavailableError)
      expect(failure).toMatchObject({ code: 'REDIS_UNAVAILABLE', outcome: 'refused', lockName: NAME })
      expect(String(failure)).toContain('OOM')
    })
    expect(await rig.contents()).toEqual({})
  })

  it('a re-entry fails clearly and leaves the count', async () => {
    await acquireAs()
    await rig.outOfMemory(async () => {
      await expect(acquireAs({ holds: 2, stamp: stamp(2) })).rejects.toThrow(/OOM/)
      await expect(acquireAs({ holds: 2, stamp: stamp(3, 2) })).rejects.toThrow(/OOM/)
    })
    expect(await rig.contents()).toEqual({ [NAME]: { type: 'hash', value: { [OWNER]: '1' } } })
    await force()
  })

  it('renewal, inspection, partial and full release succeed, with their tombstones', async () => {
    await acquireAs({ holds: 1, leaseMs: 5_000 })
    await acquireAs({ holds: 3, leaseMs: 5_000, stamp: stamp(2) })
    await rig.outOfMemory(async () => {
      expect(await renewAs()).toEqual(['renewed'])
      expect(await rig.admin.pttl(NAME)).toBeGreaterThan(20_000)
      expect((await look()).holds).toEqual(new Map([[OWNER, 3]]))
      expect(await releaseAs({ holds: 2, stamp: stamp(3) })).toEqual({ kind: 'still-held' })
      expect(await releaseAs({ holds: 1, stamp: stamp(4, 3) })).toEqual({ kind: 'still-held' })
      expect(await holds()).toEqual({ [OWNER]: '1' })
      expect(await rig.admin.get(TOMBSTONE)).toBe('3')
      expect(await releaseAs({ stamp: stamp(5, 4) })).toMatchObject({ kind: 'released' })
      expect(await rig.admin.get(TOMBSTONE)).toBe('4')
      expect(await rig.admin.exists(NAME)).toBe(0)
    })
  })

  it('force-release succeeds', async () => {
    await acquireAs()
    await rig.outOfMemory(async () => {
      expect(await force()).toEqual({ kind: 'released', owners: 1 })
    })
    expect(await rig.contents()).toEqual({})
  })
})

/** Nothing about pipelining depends on the kind of lock. */
const broken: { kind: LockKind; how: string; enableAutoPipelining: boolean }[] = [
  { kind: reentrantKinds[0]!, how: 'without auto-pipelining', enableAutoPipelining: false },
  // Commands of several locks travel as one script: batch.test.ts.
  ...reentrantKinds
    .filter((kind) => kind.locks === 1)
    .map((kind) => ({ kind, how: 'with auto-pipelining', enableAutoPipelining: true })),
]

describe.each(broken)('a broken connection, $how: $kind.name', ({ kind, enableAutoPipelining }) => {
  const holds = () => kind.holds(rig.admin, NAME)
  const open = async (options: object = {}): Promise<LockClient> =>
    rig.client({}, rig.connection({ enableAutoPipelining, ...options }, proxy))
  const proxy = own(() => rig.proxy())
  const locks = own(() => open())

  const { acquireScript, reentryScript = acquireScript, releaseScript } = kind
  const isAcquireOf = (count: number) =>
    runsOf(count === 1 ? acquireScript : reentryScript, (argv) => argv[1] === `${count}`)
  const isReleaseTo = (count: number) => runsOf(releaseScript, (argv) => argv[1] === `${count}`)

  it('loses the reply of an acquire: the caller gets its hold, count 1, and the release frees the lock', async () => {
    const fault = proxy.loseReply(isAcquireOf(1))
    const hold = await soon(kind.of(locks, NAME).acquire())
    expect(fault.count).toBe(1)
    expect(hold.count).toBe(1)
    expect(await holds()).toEqual({ [hold.owner]: '1' })
    await hold.verify()
    expect(await hold.release()).toBe('released')
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it.each(
    (['loseReply', 'loseRequest'] as const).flatMap((fault) => [
      [fault, 'named', true] as const,
      [fault, 'not named', false] as const,
    ]),
  )(
    '%s of a forced release, its holder %s: the next holder keeps the lock (I1)',
    async (fault, _, isNamed) => {
      const [one, other] = [await rig.client(), await rig.client()]
      one.on('lost', () => undefined)
      const stuck = await kind.of(one, NAME).acquire()
      const waiting = kind.rivalOf(other, NAME).acquire()
      await eventually(async () => (await kind.waiting(rig.admin, NAME)) > 0)
      const forces = [forceReleaseScript, fairForce, readWriteForce]
      const cut = proxy[fault]((bytes) => forces.some((script) => runsOf(script)(bytes)))
      const forced = kind.of(locks, NAME).forceUnlock(isNamed ? { holder: stuck.owner } : {})
      await cut.happened
      proxy.refuse()
      if (fault === 'loseRequest') await stuck.release()
      const next = await soon(waiting)
      proxy.pass()
      expect(await soon(forced)).toBe(true)
      await next.verify()
      expect(next.signal.aborted).toBe(false)
      expect(await next.release()).toBe('released')
    },
  )

  it('loses the reply of a refused acquire: still refused, and the holder unharmed', async () => {
    const holder = await kind.rivalOf(await rig.client(), NAME).acquire()
    const fault = proxy.loseReply(isAcquireOf(1))
    expect(await soon(kind.of(locks, NAME).tryLock())).toBe(false)
    expect(fault.count).toBe(1)
    expect(await holds()).toEqual({ [holder.owner]: '1' })
    await holder.release()
  })

  it('loses the reply of a re-entry: count 2, and two releases free the lock', async () => {
    await locks.run(async () => {
      const lock = kind.of(locks, NAME)
      const outer = await lock.lock()
      const fault = proxy.loseReply(isAcquireOf(2))
      const inner = await soon(lock.lock())
      expect(fault.count).toBe(1)
      expect(inner.count).toBe(2)
      expect(await holds()).toEqual({ [outer.owner]: '2' })
      expect(await inner.release()).toBe('still-held')
      expect(await holds()).toEqual({ [outer.owner]: '1' })
      expect(await outer.release()).toBe('released')
    })
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it('loses the reply of a partial release: one level less, no NotLockOwnerError', async () => {
    await locks.run(async () => {
      const lock = kind.of(locks, NAME)
      const outer = await lock.lock()
      await lock.lock()
      await lock.lock()
      const fault = proxy.loseReply(isReleaseTo(2))
      await soon(lock.unlock())
      expect(fault.count).toBe(1)
      expect(await holds()).toEqual({ [outer.owner]: '2' })
      await lock.unlock()
      expect(await holds()).toEqual({ [outer.owner]: '1' })
      await lock.unlock()
    })
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it('loses the reply of a full release: released, no NotLockOwnerError, and said once', async () => {
    const log = await MessageLog.open(rig.connection(), rig.admin)
    const lock = kind.of(locks, NAME)
    await lock.lock()
    const fault = proxy.loseReply(isReleaseTo(0))
    await soon(lock.unlock())
    expect(fault.count).toBe(1)
    expect(await rig.admin.exists(NAME)).toBe(0)
    expect(await log.take()).toEqual(kind.saidByRelease(NAME))
    const hold = await lock.acquire()
    expect(await hold.release()).toBe('released')
  })

  it('loses the reply of a full release, and somebody else takes the lock meanwhile: released, theirs stays', async () => {
    const rival = kind.rivalOf(await rig.client(), NAME)
    const hold = await kind.of(locks, NAME).acquire()
    const fault = proxy.loseReply(isReleaseTo(0))
    const releasing = hold.release()
    await fault.happened
    const theirs = await rival.acquire()
    expect(await soon(releasing)).toBe('released')
    expect(await holds()).toEqual({ [theirs.owner]: '1' })
    await theirs.release()
  })

  // "Nothing there" answers a full release that is sent again, and also a first one after a loss. Only the full release's own
  // broken connection makes it the former.
  it('hides no loss of what it broke before: a release that finds nothing says lost, withLock too, with the result (I1)', async () => {
    const lock = kind.of(locks, NAME)
    const faults = [proxy.loseReply(isAcquireOf(1))]
    const hold = await soon(lock.acquire())
    await kind.vanish(rig.admin, NAME)
    expect(await hold.release()).toBe('lost')
    expect(hold.lossError).toMatchObject({ reason: 'gone', owner: hold.owner })
    faults.push(proxy.loseReply(isAcquireOf(1)))
    const work = lock.withLock(async () => {
      await kind.vanish(rig.admin, NAME)
      return 'the result'
    })
    expect(await failureOf(work)).toMatchObject({ code: 'LOCK_LOST', reason: 'gone', result: 'the result' })
    expect(faults.map(({ count }) => count)).toEqual([1, 1])
  })

  it('hides no loss behind a re-entry and a partial release that it broke: the full release says lost (I1)', async () => {
    await locks.run(async () => {
      const lock = kind.of(locks, NAME)
      const outer = await lock.acquire()
      const faults = [proxy.loseReply(isAcquireOf(2)), proxy.loseReply(isReleaseTo(1))]
      const inner = await soon(lock.acquire())
      expect(await soon(inner.release())).toBe('still-held')
      expect(faults.map(({ count }) => count)).toEqual([1, 1])
      await kind.vanish(rig.admin, NAME)
      expect(await outer.release()).toBe('lost')
    })
  })

  it('loses the reply of a withLock at both ends: the result, and a free lock', async () => {
    const faults = [proxy.loseReply(isAcquireOf(1)), proxy.loseReply(isReleaseTo(0))]
    expect(await soon(kind.of(locks, NAME).withLock(() => 'done'))).toBe('done')
    expect(faults.map((fault) => fault.count)).toEqual([1, 1])
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it('is refused what it sends again, which had run the first time: no orphan key (I2)', async () => {
    const fault = proxy.loseReply(isAcquireOf(1))
    const trying = kind.of(locks, NAME).tryLock()
    trying.catch(() => undefined)
    await fault.happened
    proxy.refuse()
    await rig.outOfMemory(async () => {
      proxy.pass()
      await expect(soon(trying)).rejects.toThrow(/OOM/)
    })
    await eventually(async () => (await rig.admin.exists(NAME)) === 0)
  })

  it.each<[string, (lock: AnyLock) => Promise<unknown>]>([
    ['long after the release', async (lock) => (await soon(lock.acquire())).release()],
    [
      'after the client was closed over the hold',
      async (lock) => {
        await soon(lock.acquire())
        await locks.close({ graceMs: 0 })
      },
    ],
    [
      'after its caller gave up',
      (lock) => expect(lock.acquire({ signal: AbortSignal.timeout(1) })).rejects.toThrow(),
    ],
  ])('a copy of a cut acquire arrives %s: no orphan key (I8)', async (_when, end) => {
    const lost = proxy.loseReply(isAcquireOf(1))
    const ended = signalled()
    const copy = proxy.copyLate(isAcquireOf(1), ended.promise)
    await end(kind.of(locks, NAME))
    await soon(lost.happened)
    await eventually(async () => (await rig.admin.exists(NAME)) === 0)
    ended.resolve()
    await soon(copy.happened)
    await eventually(async () => (await rig.admin.exists(NAME)) === 0)
  })

  it('copies of a cut partial release and of a cut re-entry arrive late: the count stays true', async () => {
    await locks.run(async () => {
      const lock = kind.of(locks, NAME)
      const { owner } = await lock.lock()
      const [lowered, raised] = [signalled(), signalled()]
      proxy.loseReply(isAcquireOf(2))
      const reentry = proxy.copyLate(isAcquireOf(2), lowered.promise)
      await soon(lock.lock())
      proxy.loseReply(isReleaseTo(1))
      const lower = proxy.copyLate(isReleaseTo(1), raised.promise)
      await soon(lock.unlock())
      expect(await holds()).toEqual({ [owner]: '1' })
      lowered.resolve()
      await soon(reentry.happened)
      expect(await holds()).toEqual({ [owner]: '1' })
      await lock.lock()
      raised.resolve()
      await soon(lower.happened)
      expect(await holds()).toEqual({ [owner]: '2' })
      await lock.unlock()
      await lock.unlock()
    })
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it('a flushed script cache is invisible, 10 times under load', async () => {
    const names = ['one', 'two', 'three']
    const inside = new Map<string, number>()
    let [runs, overlaps] = [0, 0]
    let flushing = true
    const worker = async (name: string): Promise<void> => {
      while (flushing) {
        await kind.of(locks, name).withLock(async () => {
          inside.set(name, (inside.get(name) ?? 0) + 1)
          overlaps += inside.get(name) === 1 ? 0 : 1
          await Promise.resolve()
          inside.set(name, inside.get(name)! - 1)
        })
        runs += 1
      }
    }
    const workers = [...names, ...names].map(worker)
    const flushes = async (): Promise<void> => {
      // conditions-script-flush.test.ts does so as often as it can.
      for (let i = 0; i < 10; i += 1) {
        const before = runs
        await rig.admin.script('FLUSH')
        await eventually(() => runs >= before + 3)
      }
    }
    await flushes().finally(() => (flushing = false))
    await Promise.all(workers)
    expect(kind.excludesItself ? overlaps : 0).toBe(0)
    expect(await rig.admin.exists(...names)).toBe(0)
  })

  it('300 random operations with random lost replies and late copies: counts are exact after each, nothing stays (I1, I2)', async () => {
    const random = seededRandom(enableAutoPipelining ? 7 : 8).next
    const names = ['lock-0', 'lock-1', 'lock-2']
    const owners = new Map<string, number>()
    const copies: Promise<void>[] = []
    let [faults, unknown, operations, overlaps] = [0, 0, 0, 0]

    type Thread = ReturnType<LockClient['thread']>
    const take = async (thread: Thread, name: string, count: number): Promise<number> => {
      const waitMs = random() < 0.5 ? 0 : 50
      const taken = await kind
        .of(thread, name)
        .tryLock(waitMs)
        .catch((error: unknown) => {
          // 50 ms may not be enough to connect again. Nobody knows then whether it ran: it is undone.
          expect(error).toBeInstanceOf(RedisUnavailableError)
          unknown += 1
          return false
        })
      if (!taken) {
        return count
      }
      overlaps += (owners.get(name) ?? thread.id) === thread.id ? 0 : 1
      owners.set(name, thread.id)
      return count + 1
    }
    const releaseSome = async (thread: Thread, name: string, count: number): Promise<number> => {
      if (count === 1) {
        owners.delete(name)
      }
      await kind.of(thread, name).unlock()
      return count - 1
    }
    const perform = async (thread: Thread, counts: Map<string, number>): Promise<void> => {
      const name = names[Math.floor(random() * names.length)]!
      const count = counts.get(name) ?? 0
      if (random() < 0.25) {
        faults += 1
        if (random() < 0.5) copies.push(proxy.copyLate(runsAnything, random() * 1_000).happened)
        proxy.loseReply(runsAnything)
      }
      const now = await (random() < 0.4 || count === 0 ? take : releaseSome)(thread, name, count)
      counts.set(name, now)
      // At once, except after what had no answer.
      await eventually(async () => (await kind.of(thread, name).getHoldCount()) === now)
    }
    const worker = async (): Promise<void> => {
      const [thread, counts] = [locks.thread(), new Map<string, number>()]
      while (operations < 300) {
        operations += 1
        await perform(thread, counts)
      }
      for (const [name, count] of counts) {
        for (let left = count; left > 0;) {
          left = await releaseSome(thread, name, left)
        }
      }
    }
    await Promise.all([worker(), worker(), worker()])
    expect(faults).toBeGreaterThan(40)
    expect(unknown).toBeLessThan(faults)
    expect(kind.excludesItself ? overlaps : 0).toBe(0)
    await soon(Promise.all(copies))
    await eventually(async () => (await rig.admin.exists(...names)) === 0)
  })
})
