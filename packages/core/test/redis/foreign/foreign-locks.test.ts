import { expect } from '@jest/globals'
import {
  InvalidArgumentError,
  LockLostError,
  LockTimeoutError,
  WrongTypeError,
  type AnyLock,
  type Lock,
  type LockClient,
} from '../../../src/index.js'
import type { ForeignLocks } from '../../../src/arguments/foreign-locks.js'
import { lookScript } from '../../../src/scripts/foreign-lock.js'
import { heartbeatScript } from '../../../src/scripts/fair-lock.js'
import { nextEvent, outcomeOf, waitBehind } from '../support/outcomes.js'
import { scriptsRunBy } from '../support/carrier.js'
import { foreignKinds, TOKEN } from '../support/foreign-kinds.js'
import { eventually, soon } from '../support/rig.js'
import { describe, it, own, useRig } from '../support/together.js'

const NAME = 'order:42'
const LONG_MS = 60_000
const LINE = `redisson_lock_queue:{${NAME}}`

const rig = useRig()
const locks = own(() => rig.client({ foreignLocks: 'wait' }))

/** Another library takes its lock, as redlock does. */
const takeString = (ttlMs = LONG_MS): Promise<unknown> => rig.admin.set(NAME, TOKEN, 'PX', ttlMs, 'NX')

/** And releases it as old versions do, without a word. */
const freeString = (): Promise<unknown> => rig.admin.del(NAME)

/** How often each script was sent from now on. */
function runsSeen(connection: Parameters<typeof scriptsRunBy>[0]): (script: { sha1: string }) => number {
  const digests = scriptsRunBy(connection)
  return ({ sha1 }) => digests().filter((each) => each === sha1).length
}

describe.each(foreignKinds)("$name, with foreignLocks: 'wait'", (kind) => {
  it('waits until the string is deleted, and leaves it alone', async () => {
    // Looks alone find it: no other timer comes within the time of the test.
    const patient = await rig.client({ foreignLocks: 'wait', resyncInterval: 60_000 })
    await takeString()
    const waiting = nextEvent(patient, 'waiting')
    const hold = kind.of(patient, NAME).acquire()
    const { holder } = await waiting
    if (kind.name !== 'multi') {
      expect(holder).toMatchObject({ owner: TOKEN, foreign: true, holds: 1 })
      expect(holder?.clientName).toBeUndefined()
    }
    expect(await rig.admin.get(NAME)).toBe(TOKEN)
    await freeString()
    const taken = await soon(hold)
    expect(await rig.admin.type(NAME)).toBe('hash')
    expect(await taken.release()).toBe('released')
  })

  it('waits until the string ends by itself', async () => {
    await takeString(300)
    const hold = await soon(kind.of(locks, NAME).acquire())
    expect(await rig.admin.type(NAME)).toBe('hash')
    await hold.release()
  })

  it('a try and a limited wait are refused as by any holder, and leave nothing', async () => {
    await takeString()
    const lock = kind.of(await rig.slow({ foreignLocks: 'wait' }), NAME)
    expect(await lock.tryLock()).toBe(false)
    expect(await lock.tryAcquire()).toBeNull()
    const error = await outcomeOf(lock.acquire({ waitMs: 1 }))
    expect(error).toBeInstanceOf(LockTimeoutError)
    expect(error).toMatchObject({ holder: { owner: TOKEN, foreign: true } })
    expect(String(error)).toContain(`another library ("${TOKEN}")`)
    await eventually(async () => (await rig.keysLeft()).join() === NAME)
    expect(await rig.admin.get(NAME)).toBe(TOKEN)
    await freeString()
    expect(await lock.tryLock()).toBe(true)
    await lock.unlock()
  })

  it('what is no string is an error, also in the middle of a wait', async () => {
    await rig.admin.rpush(NAME, 'a')
    const lock = kind.of(locks, NAME)
    expect(await outcomeOf(lock.tryLock())).toBeInstanceOf(WrongTypeError)
    await freeString()
    await takeString()
    const parked = nextEvent(locks, 'waiting')
    const failure = outcomeOf(lock.acquire())
    await parked
    await rig.admin.multi().del(NAME).rpush(NAME, 'a').exec()
    expect(await failure).toMatchObject({ code: 'WRONG_TYPE', key: NAME })
    expect(await rig.admin.lrange(NAME, 0, -1)).toEqual(['a'])
    await freeString()
  })

  it('a string without a time to live ends an endless wait, and no other', async () => {
    const impatient = await rig.impatient({
      foreignLocks: 'wait',
      unavailableTimeoutMs: 700,
      resyncInterval: 50,
    })
    await rig.admin.set(NAME, TOKEN)
    const lock = kind.of(impatient, NAME)
    const limited = outcomeOf(lock.acquire({ waitMs: 1_000 }))
    const patient = kind.of(locks, NAME, { withoutTtl: 'wait' }).acquire()
    // Where this test fails before it looks, no test beside it does.
    patient.catch(() => undefined)
    const error = await outcomeOf(kind.of(impatient, NAME).acquire())
    expect(error).toMatchObject({ code: 'WRONG_TYPE', key: NAME })
    expect(String(error)).toMatch(
      /the string "4f3c9d21\w+" has been there for \d{3,4} ms, without a time to live/,
    )
    expect(await limited).toMatchObject({ code: 'LOCK_TIMEOUT' })
    expect(await rig.admin.get(NAME)).toBe(TOKEN)
    await freeString()
    await (await soon(patient)).release()
  })

  it("has the option by itself: 'wait' beside a client without it, 'error' beside one with it", async () => {
    const plain = await rig.client()
    await takeString()
    expect(await outcomeOf(kind.of(plain, NAME).tryLock())).toBeInstanceOf(WrongTypeError)
    expect(await kind.of(plain, NAME, 'wait').tryLock()).toBe(false)
    expect(await outcomeOf(kind.of(locks, NAME, 'error').tryLock())).toBeInstanceOf(WrongTypeError)
    await freeString()
  })
})

describe('a re-entry that finds a string', () => {
  it.each(foreignKinds.filter(({ name }) => !/non-reentrant|multi/.test(name)))(
    '$name: every level is lost at once, and the string stays',
    async (kind) => {
      const lock = kind.of(locks, NAME)
      await locks.run(async () => {
        const outer = await lock.acquire()
        const middle = await lock.acquire()
        await rig.admin.set(NAME, TOKEN)
        const failure = await outcomeOf(lock.acquire())
        expect(failure).toBeInstanceOf(LockLostError)
        expect(outer.signal.aborted && middle.signal.aborted).toBe(true)
        expect(await middle.release()).toBe('lost')
        expect(await outer.release()).toBe('lost')
        expect(await rig.admin.get(NAME)).toBe(TOKEN)
      })
      await freeString()
      // The keys beside a read lock.
      await rig.admin.flushall()
    },
  )

  it('a hold is lost at its next renewal', async () => {
    const watched = await rig.client({ foreignLocks: 'wait', lockWatchdogTimeout: 2_400 })
    const hold = await watched.getLock(NAME).acquire()
    const lost = nextEvent(watched, 'lost')
    await rig.admin.set(NAME, TOKEN)
    expect(await lost).toMatchObject({ lockName: NAME, owner: hold.owner, error: { reason: 'gone' } })
    expect(await rig.admin.get(NAME)).toBe(TOKEN)
    await freeString()
  })
})

describe('the caller that looks, and how often', () => {
  it('one of all callers of a client and name, with pauses that grow to 50 ms', async () => {
    const connection = rig.connection()
    const looking = await rig.client({ foreignLocks: 'wait' }, connection)
    const runs = runsSeen(connection)
    await takeString(1_000)
    const holds = Array.from({ length: 50 }, () => looking.getLock(NAME).withLock(() => runs(lookScript)))
    const looks = await soon(Promise.all(holds))
    // Pauses of 5, 5, 10, 20 and 40 ms, and then of 50; two for the subscription; a few where a timer is early.
    expect(looks[0]).toBeGreaterThan(1)
    expect(looks[0]).toBeLessThan(30)
    expect(looks.at(-1)).toBe(looks[0])
  })

  it('the caller that looks, and how often of readers, who try together, one looks', async () => {
    const connection = rig.connection()
    const looking = await rig.client({ foreignLocks: 'wait' }, connection)
    const runs = runsSeen(connection)
    await takeString(500)
    const reader = looking.getReadWriteLock(NAME).readLock()
    const holds = await soon(Promise.all(Array.from({ length: 30 }, () => reader.acquire())))
    expect(runs(lookScript)).toBeLessThan(40)
    await Promise.all(holds.map((hold) => hold.release()))
  })

  it('nobody, where nothing is in the way', async () => {
    const connection = rig.connection()
    const looking = await rig.client({ foreignLocks: 'wait' }, connection)
    const runs = runsSeen(connection)
    for (const kind of foreignKinds) {
      await (await kind.of(looking, NAME).acquire()).release()
    }
    expect(runs(lookScript)).toBe(0)
  })
})

describe('waiters of a fair lock behind a string', () => {
  it('stand in the queue and stay alive, and are served in order of arrival (I10)', async () => {
    const connections = [rig.connection(), rig.connection(), rig.connection()]
    const clients = await Promise.all(
      connections.map((each) => rig.client({ foreignLocks: 'wait', resyncInterval: 500 }, each)),
    )
    const runs = connections.map((each) => runsSeen(each))
    await takeString()
    const served: number[] = []
    const done: Promise<unknown>[] = []
    for (const [i, client] of clients.entries()) {
      done.push(client.getFairLock(NAME).withLock(() => served.push(i)))
      await eventually(async () => (await rig.admin.llen(LINE)) === i + 1)
    }
    // Longer than a client counts as alive without a heartbeat.
    await eventually(() => Promise.resolve(runs.every((each) => each(heartbeatScript) > 2)))
    expect(await rig.admin.llen(LINE)).toBe(3)
    const inspection = await clients[0]!.getFairLock(NAME).inspect()
    expect(inspection).toMatchObject({ kind: 'fair', waiting: 3, holders: [{ owner: TOKEN, foreign: true }] })
    await freeString()
    await soon(Promise.all(done))
    expect(served).toEqual([0, 1, 2])
  })

  it('only the client of the first looks often', async () => {
    const connections = [rig.connection(), rig.connection()]
    const [first, second] = await Promise.all(
      connections.map((connection) => rig.client({ foreignLocks: 'wait' }, connection)),
    )
    const runs = connections.map(runsSeen)
    await takeString(700)
    const one = first!.getFairLock(NAME).acquire()
    await eventually(async () => (await rig.admin.llen(LINE)) === 1)
    const two = second!.getFairLock(NAME).acquire()
    const hold = await soon(one)
    const [often = 0, seldom = 0] = runs.map((each) => each(heartbeatScript))
    expect(often).toBeLessThan(30)
    // One at the end of the string's time, perhaps, and one of each second.
    expect(seldom).toBeLessThanOrEqual(4)
    await hold.release()
    await (await soon(two)).release()
  })

  it('a waiter without the option is refused, and does not end the waits of others', async () => {
    await takeString()
    const waiting = nextEvent(locks, 'waiting')
    const hold = locks.getFairLock(NAME).acquire()
    await waiting
    expect(await outcomeOf(locks.getFairLock(NAME, { foreignLocks: 'error' }).acquire())).toMatchObject({
      code: 'WRONG_TYPE',
    })
    await freeString()
    await (await soon(hold)).release()
  })
})

describe('what the string replaces', () => {
  it('the hash of a holder: who waited in its queue waits on, and leaves no place there', async () => {
    const other = await rig.client()
    const hold = await other.getLock(NAME).acquire()
    // Where nothing takes it out, its place lasts for 30 s.
    const waiter = await rig.client({ foreignLocks: 'wait', resyncInterval: 60_000 })
    const leaving = new AbortController()
    const { waiting } = await waitBehind(rig, NAME, () =>
      outcomeOf(waiter.getLock(NAME).acquire({ signal: leaving.signal })),
    )
    const line = `holdfast:line:{${NAME}}`
    await eventually(async () => (await rig.admin.zcount(line, 0, '+inf')) === 1)
    await rig.admin.set(NAME, TOKEN, 'PX', LONG_MS)
    leaving.abort(new Error('enough'))
    expect(await waiting).toMatchObject({ message: 'enough' })
    await eventually(async () => (await rig.admin.zcount(line, 0, '+inf')) === 0)
    await freeString()
    expect(await hold.release()).toBe('lost')
  })

  it('a string by the string of another: both are waited for, also where one has no text', async () => {
    await takeString()
    const waiting = nextEvent(locks, 'waiting')
    const hold = locks.getLock(NAME).acquire()
    await waiting
    await rig.admin.set(NAME, '', 'PX', LONG_MS)
    await eventually(async () => (await locks.getLock(NAME).inspect())?.holders[0]?.owner === '')
    await freeString()
    await (await soon(hold)).release()
  })
})

describe('what tells of a string', () => {
  it.each(foreignKinds)('$name: isLocked, remainTimeToLive and forceUnlock, which refuses', async (kind) => {
    await takeString()
    if (kind.name === 'multi') {
      await rig.admin.set(`${NAME}:other`, TOKEN, 'PX', LONG_MS)
    }
    const lock = kind.of(locks, NAME)
    expect(await lock.isLocked()).toBe(true)
    expect(await lock.remainTimeToLive()).toBeGreaterThan(LONG_MS / 2)
    expect(await lock.getHoldCount()).toBe(0)
    // Where a holder is named, Redis is not asked first: the script itself meets the string.
    for (const options of [{}, { holder: TOKEN }]) {
      const refusal = await outcomeOf(lock.forceUnlock(options))
      expect(refusal).toMatchObject({ code: 'WRONG_TYPE' })
      expect(String(refusal)).toContain(`another library ("${TOKEN}")`)
      expect(await rig.admin.get(NAME)).toBe(TOKEN)
    }
    await rig.admin.del(NAME, `${NAME}:other`)
    expect(await lock.isLocked()).toBe(false)
    expect(await lock.forceUnlock()).toBe(false)
  })

  it('inspect(): its text, and how long it lasts', async () => {
    await rig.admin.set(NAME, 'x'.repeat(500), 'PX', LONG_MS)
    const inspection = await locks.getLock(NAME).inspect()
    expect(inspection).toMatchObject({ name: NAME, kind: 'reentrant', mode: undefined })
    expect(inspection?.holders).toMatchObject([{ owner: 'x'.repeat(200), foreign: true, holds: 1 }])
    expect(inspection?.leaseLeftMs).toBeGreaterThan(LONG_MS / 2)
    await freeString()
    expect(await locks.getLock(NAME).inspect()).toBeNull()
  })

  it('inspectAll(): strings that look like locks, and only with the option', async () => {
    const token = { PX: LONG_MS }
    const set = (key: string, value: string, ttlMs = token.PX) =>
      ttlMs ? rig.admin.set(key, value, 'PX', ttlMs) : rig.admin.set(key, value)
    await set('a:uuid', '2f1c9f0e-7d5e-4c7a-8f47-0d3d1e0f9b11')
    await set('b:base64', 'pPq0u3cBqUeDzRk1bW7n0w==')
    await set('c:text', 'the title of a page')
    await set('d:number', '1700000000000000')
    await set('e:lasting', TOKEN, 0)
    const hold = await locks.getLock('f:ours').acquire()
    const names = async (of: LockClient): Promise<string[]> =>
      (await of.inspectAll()).locks.map(({ name }) => name).sort()
    expect(await names(locks)).toEqual(['a:uuid', 'b:base64', 'f:ours'])
    expect(await names(await rig.client())).toEqual(['f:ours'])
    await hold.release()
    await rig.admin.flushall()
  })
})

describe('what an error advises', () => {
  const waits = "foreignLocks: 'wait'"
  const calls = (lock: AnyLock & Partial<Pick<Lock, 'inspect'>>) => [
    () => lock.tryLock(),
    () => lock.acquire({ waitMs: 60_000 }),
    () => lock.isLocked(),
    () => lock.remainTimeToLive(),
    () => lock.forceUnlock(),
    ...(lock.inspect ? [() => lock.inspect!()] : []),
  ]

  it.each(foreignKinds)(
    '$name: to wait for strings, where it does not yet and it could help',
    async (kind) => {
      const put: Record<string, () => Promise<unknown>> = {
        list: () => rig.admin.rpush(NAME, 'a'),
        'sorted set': () => rig.admin.zadd(NAME, 1, '__write__'),
        string: () => takeString(),
      }
      for (const [type, create] of Object.entries(put)) {
        await create()
        for (const call of calls(kind.of(locks, NAME, 'error'))) {
          expect(String(await outcomeOf(call()))).toContain(`${waits} waits for it.`)
        }
        for (const call of type === 'string' ? [] : calls(kind.of(locks, NAME, 'wait'))) {
          const error = await outcomeOf(call())
          expect(error).toMatchObject({ code: 'WRONG_TYPE', key: NAME })
          expect(String(error)).not.toContain(waits)
          expect(String(error)).not.toContain('delete')
        }
        await freeString()
      }
    },
  )

  it('a key beside the lock is nobody else’s lock, and no string of another library says anything of a clock', async () => {
    const counter = `redisson_lock_token:{${NAME}}`
    await rig.admin.hset(counter, 'a', '1')
    for (const rule of ['wait', 'error'] as const) {
      const error = await outcomeOf(locks.getFencedLock(NAME, { foreignLocks: rule }).tryAcquire())
      expect(error).toMatchObject({ code: 'WRONG_TYPE', key: counter })
      expect(String(error)).not.toContain('foreignLocks')
    }
    await rig.admin.del(counter)
    await rig.admin.set(NAME, TOKEN, 'PX', 45_000)
    const error = await outcomeOf(locks.getLock(NAME).acquire({ waitMs: 0 }))
    expect(String(error)).toMatch(/another library \("\w+"\) .*, 4\d\S* s of lease left\. Try again later/)
    expect((error as LockTimeoutError).holder).not.toHaveProperty('longestLeaseMs')
    expect(String(await outcomeOf(locks.getLock(NAME).forceUnlock()))).not.toContain('delete')
    await freeString()
  })
})

describe('a hash that is no lock', () => {
  it.each(foreignKinds)('$name: waits behind it, and calls nobody its owner', async (kind) => {
    await rig.admin.hset(NAME, 'status', 'paid')
    const lock = kind.of(await rig.slow({ foreignLocks: 'wait' }), NAME)
    const error = await outcomeOf(lock.acquire({ waitMs: 1 }))
    const what = kind.name === 'multi' ? 'error' : (error as LockTimeoutError).holder
    if (what !== 'error') {
      expect(what).toMatchObject({ owner: 'status', foreign: true, holds: 1, leaseLeftMs: -1 })
    }
    expect(String(error)).not.toContain('NaN')
    expect(await outcomeOf(lock.isLocked())).toMatchObject({ code: 'WRONG_TYPE', key: NAME })
    expect(await outcomeOf(lock.remainTimeToLive())).toMatchObject({ code: 'WRONG_TYPE', key: NAME })
    expect(await rig.admin.hgetall(NAME)).toEqual({ status: 'paid' })
    await rig.admin.flushall()
  })
})

describe('foreignLocks', () => {
  it.each([
    ['an unknown word', 'always'],
    ['null', null],
    ['a number', 1],
    ['an unknown key', { withoutTTL: 'wait' }],
    ['an unknown word for those without a time to live', { withoutTtl: 'never' }],
  ])('refuses %s, of a client and of a lock', (_what, given) => {
    const foreignLocks = given as ForeignLocks
    expect(() => rig.clientNow({ foreignLocks })).toThrow(InvalidArgumentError)
    for (const kind of foreignKinds) {
      expect(() => kind.of(locks, NAME, foreignLocks)).toThrow(/foreignLocks/)
    }
  })

  it('a caller that leaves takes nothing later', async () => {
    await takeString()
    const parked = nextEvent(locks, 'waiting')
    const leaving = new AbortController()
    const wait = outcomeOf(locks.getLock(NAME).acquire({ signal: leaving.signal }))
    await parked
    leaving.abort(new Error('enough'))
    await freeString()
    expect(await wait).toMatchObject({ message: 'enough' })
    expect(await locks.getLock(NAME).isLocked()).toBe(false)
  })
})
