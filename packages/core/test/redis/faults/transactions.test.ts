import { expect } from '@jest/globals'
import type { Redis } from 'ioredis'
import { fencedSet, RedisUnavailableError, type LockClient, type LockEvents } from '../../../src/index.js'
import { exclusive } from '../../../src/entries/schedule/index.js'
import { belief, failureOf, KNOWS_BETTER, nextEvent, outcomeOf, renewed } from '../support/outcomes.js'
import { carrierOf } from '../support/carrier.js'
import { eventually, sleep, soon } from '../support/rig.js'
import { describe, it, useRig, useWarnings } from '../support/together.js'

const NAME = 'order:42'
const rig = useRig()

/** The commands of the application that shares its connection with a client. */
async function sent(connection: Redis, ...command: string[]): Promise<unknown> {
  const client = carrierOf(connection)
  const [name, ...args] = command as [string]
  return 'status' in client ? await connection.call(name, ...args) : await client.sendCommand(command)
}

/** A transaction by hand, as `multi({ pipeline: false })` opens one. */
async function transaction(connection: Redis) {
  await sent(connection, 'MULTI')
  return {
    /** The answers at the end, one for each command. */
    exec: async () => (await sent(connection, 'EXEC')) as unknown[],
    discard: () => sent(connection, 'DISCARD'),
  }
}

const isUnknown = { code: 'REDIS_UNAVAILABLE', outcome: 'unknown', transient: false }

async function shared(options: object = {}): Promise<{ locks: LockClient; connection: Redis }> {
  const connection = rig.connection()
  const locks = await rig.client({ resyncInterval: 20_000, ...options }, connection)
  locks.on('unexpected-reply', () => undefined)
  return { locks, connection }
}

describe('a renewal in a transaction that the application has opened', () => {
  it('is not believed: no two clients ever trust one lock', async () => {
    const { locks, connection } = await shared({ lockWatchdogTimeout: 2_000 })
    const others = await rig.client({ resyncInterval: 200 })
    const hold = await locks.getLock(NAME).acquire()
    const told = nextEvent(locks, 'unexpected-reply')
    const opened = await transaction(connection)

    const successor = await others.getLock(NAME).acquire({ waitMs: 20_000 })
    expect(belief(hold)).toEqual(KNOWS_BETTER)
    expect(await told).toMatchObject({ script: 'lock/renew', reply: '"QUEUED"', error: isUnknown })

    // One renewal when the transaction began, one when the next was due, and what releases the lock.
    await eventually(async () => (await opened.exec().then(({ length }) => length)) <= 4)
    expect(await rig.admin.hgetall(NAME)).toEqual({ [successor.owner]: '1' })
    expect(belief(successor)).toMatchObject({ trusted: true })
    await successor.release()
  })

  it('is asked for again: a transaction that ends soon costs no hold', async () => {
    const { locks, connection } = await shared({ lockWatchdogTimeout: 3_000 })
    const failed = nextEvent(locks, 'renewal-failed')
    const hold = await locks.getLock(NAME).acquire()
    const opened = await transaction(connection)
    expect(await failed).toMatchObject({ error: isUnknown })
    expect(await opened.exec()).toHaveLength(1)
    await renewed(hold)
    expect(belief(hold)).toMatchObject({ trusted: true })
    expect(await hold.release()).toBe('released')
  })

  it('a renewal in a transaction that the application has opened of a permit is not believed', async () => {
    const { locks, connection } = await shared({ lockWatchdogTimeout: 1_000 })
    const semaphore = locks.getPermitExpirableSemaphore(NAME)
    await semaphore.trySetPermits(1)
    const permit = await semaphore.acquirePermit({ renew: true })
    const opened = await transaction(connection)
    await eventually(() => permit.signal.aborted, 10_000)
    await opened.discard()
    await locks.close({ graceMs: 0 })
    await rig.admin.del(NAME)
  })
})

describe('a release in a transaction that the application has opened', () => {
  it('is not told as released; at the EXEC the lock is free, and nothing was sent over and over', async () => {
    const { locks, connection } = await shared()
    const hold = await locks.getLock(NAME).acquire()
    const opened = await transaction(connection)
    const failed = nextEvent(locks, 'release-failed')
    expect(await failureOf(hold.release())).toMatchObject(isUnknown)
    expect(await rig.admin.exists(NAME)).toBe(1)
    expect(await failed).toMatchObject({ lockName: NAME, error: isUnknown })
    await sleep(1_500)
    expect(await opened.exec()).toHaveLength(2)
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it('a release in a transaction that the application has opened that is discarded frees the lock long before its lease ends', async () => {
    const { locks, connection } = await shared()
    const hold = await locks.getLock(NAME).acquire()
    const opened = await transaction(connection)
    expect(await failureOf(hold.release())).toMatchObject(isUnknown)
    await opened.discard()
    expect(await rig.admin.exists(NAME)).toBe(1)
    await eventually(async () => (await rig.admin.exists(NAME)) === 0, 10_000)
  })

  it('a release in a transaction that the application has opened of a hold whose re-entry waited in it frees the lock when it is over (I2)', async () => {
    const { locks, connection } = await shared()
    await locks.run(async () => {
      const lock = locks.getLock(NAME)
      const hold = await lock.acquire()
      const opened = await transaction(connection)
      const failed = nextEvent(locks, 'release-failed')
      expect(await failureOf(lock.acquire())).toMatchObject(isUnknown)
      await failed
      // The re-entry, and what undoes it.
      expect(await opened.exec()).toHaveLength(2)
      expect(await hold.release()).toBe('released')
    })
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it.each(['exec', 'discard'] as const)(
    'a release in a transaction that the application has opened of permits counts once: %s',
    async (end) => {
      const { locks, connection } = await shared()
      const semaphore = locks.getSemaphore(NAME)
      await semaphore.trySetPermits(3)
      await semaphore.acquire(2)
      const opened = await transaction(connection)
      expect(await failureOf(semaphore.release(2))).toMatchObject(isUnknown)
      await opened[end]()
      await eventually(async () => (await rig.admin.get(NAME)) === '3', 10_000)
      await sleep(1_200)
      expect(await semaphore.availablePermits()).toBe(3)
      await rig.admin.del(NAME)
    },
  )
})

/** The commands that take each kind, and ask for it. */
const takes: Record<string, (locks: LockClient) => Promise<unknown>> = {
  'a try': (locks) => locks.getLock(NAME).tryAcquire(),
  'a wait': (locks) => locks.getLock(NAME).acquire(),
  'a wait with a limit': (locks) => locks.getLock(NAME).acquire({ waitMs: 3_000 }),
  'a lease': (locks) => locks.getLock(NAME).acquire({ leaseMs: 20_000 }),
  'a fair lock': (locks) => locks.getFairLock(NAME).acquire(),
  'a read lock': (locks) => locks.getReadWriteLock(NAME).readLock().acquire(),
  'a write lock': (locks) => locks.getReadWriteLock(NAME).writeLock().acquire(),
  'a fenced lock': (locks) => locks.getFencedLock(NAME).acquire(),
  'a spin lock': (locks) => locks.getSpinLock(NAME).acquire(),
  'a non-reentrant lock': (locks) => locks.getNonReentrantLock(NAME).acquire(),
  'a multi lock': (locks) => locks.getMultiLock(locks.getLock(NAME), locks.getLock('b')).acquire(),
  withLock: (locks) => locks.getLock(NAME).withLock(() => 'ran'),
  'a schedule': (locks) => exclusive(NAME, { locks }, () => 'ran')(),
}

describe('what is taken in a transaction that the application has opened', () => {
  it.each(Object.keys(takes))('%s: unknown, and held by nobody after the EXEC', async (kind) => {
    const { locks, connection } = await shared()
    const opened = await transaction(connection)
    expect(await failureOf(takes[kind]!(locks))).toMatchObject(isUnknown)
    await settled(locks)
    const answers = await opened.exec()
    expect(answers).toHaveLength(kind === 'a multi lock' ? answers.length : 2)
    expect(await rig.admin.exists(NAME, 'b')).toBe(0)
  })

  it('many in one script: each is unknown, and all are free after the EXEC', async () => {
    const { locks, connection } = await shared()
    const opened = await transaction(connection)
    const names = Array.from({ length: 20 }, (_, i) => `order:${i}`)
    const outcomes = await Promise.all(names.map((name) => failureOf(locks.getLock(name).acquire())))
    outcomes.forEach((each) => expect(each).toMatchObject(isUnknown))
    await settled(locks)
    await opened.exec()
    expect(await rig.admin.exists(...names)).toBe(0)
  })

  it('between two transactions: what ran at the first EXEC is undone', async () => {
    const { locks, connection } = await shared()
    await sent(connection, 'MULTI')
    const taking = failureOf(locks.getLock(NAME).acquire())
    // Commands of one turn leave at its end.
    await new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)))
    await sent(connection, 'EXEC')
    expect(await taking).toMatchObject(isUnknown)
    await eventually(async () => (await rig.admin.exists(NAME)) === 0)
  })

  it('by scripts that Redis does not know any more: held by nobody after the EXEC', async () => {
    const { locks, connection } = await shared()
    await locks.getLock(NAME).withLock(() => undefined)
    const opened = await transaction(connection)
    const { acquireScript } = await import('../../../src/scripts/lock.js')
    await rig.admin.script('FLUSH')
    await rig.admin.script('LOAD', acquireScript.lua)
    expect(await failureOf(locks.getLock(NAME).acquire())).toMatchObject(isUnknown)
    await settled(locks)
    await opened.exec()
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it('permits: unknown, and all there after the EXEC', async () => {
    const { locks, connection } = await shared()
    const [semaphore, permits] = [locks.getSemaphore(NAME), locks.getPermitExpirableSemaphore('b')]
    await semaphore.trySetPermits(2)
    await permits.trySetPermits(2)
    const opened = await transaction(connection)
    expect(await failureOf(semaphore.acquire())).toMatchObject(isUnknown)
    expect(await failureOf(semaphore.tryAcquire())).toMatchObject(isUnknown)
    expect(await failureOf(semaphore.drainPermits())).toMatchObject(isUnknown)
    expect(await failureOf(permits.acquire())).toMatchObject(isUnknown)
    await settled(locks)
    await opened.exec()
    expect(await semaphore.availablePermits()).toBe(2)
    expect(await permits.availablePermits()).toBe(2)
    await rig.admin.del(NAME, 'b')
  })

  it('nobody is in the queue any more whose wait failed', async () => {
    const { locks, connection } = await shared({ resyncInterval: 300 })
    const others = await rig.client()
    const hold = await others.getFairLock(NAME).acquire()
    const waiting = outcomeOf(locks.getFairLock(NAME).acquire())
    await eventually(async () => (await rig.admin.llen(`redisson_lock_queue:{${NAME}}`)) === 1)
    const opened = await transaction(connection)
    expect(await waiting).toMatchObject(isUnknown)
    await settled(locks)
    await opened.exec()
    await hold.release()
    await eventually(async () => (await rig.keysLeft()).every((key) => key.startsWith('holdfast:latch')))
  })
})

const asks: Record<string, (locks: LockClient) => Promise<unknown>> = {
  isLocked: (locks) => locks.getLock(NAME).isLocked(),
  forceUnlock: (locks) => locks.getLock(NAME).forceUnlock(),
  remainTimeToLive: (locks) => locks.getLock(NAME).remainTimeToLive(),
  'forceUnlock of a fair lock': (locks) => locks.getFairLock(NAME).forceUnlock(),
  'forceUnlock of a read lock': (locks) => locks.getReadWriteLock(NAME).readLock().forceUnlock(),
  inspect: (locks) => locks.getLock(NAME).inspect(),
  inspectAll: (locks) => locks.inspectAll(),
  'the count of a latch': (locks) => locks.getCountDownLatch(NAME).getCount(),
  'a count-down': (locks) => locks.getCountDownLatch(NAME).countDown(),
  trySetPermits: (locks) => locks.getSemaphore(NAME).trySetPermits(1),
  availablePermits: (locks) => locks.getSemaphore(NAME).availablePermits(),
  acquiredPermits: (locks) => locks.getPermitExpirableSemaphore(NAME).acquiredPermits(),
}

describe('a question in a transaction that the application has opened', () => {
  it.each(Object.keys(asks))('%s is answered by nobody', async (what) => {
    const { locks, connection } = await shared()
    const opened = await transaction(connection)
    expect(await failureOf(asks[what]!(locks))).toMatchObject(isUnknown)
    await opened.discard()
    await settled(locks)
  })

  it('verify and extend of a hold are answered by nobody', async () => {
    const { locks, connection } = await shared()
    const hold = await locks.getLock(NAME).acquire()
    const opened = await transaction(connection)
    expect(await failureOf(hold.verify())).toMatchObject(isUnknown)
    expect(await failureOf(hold.extend(40_000))).toMatchObject(isUnknown)
    await opened.discard()
    expect(await hold.release()).toBe('released')
  })

  it('fencedSet is neither accepted nor refused', async () => {
    const connection = rig.connection()
    await rig.client({}, connection)
    const opened = await transaction(connection)
    const write = { key: NAME, token: '1', value: 'x' }
    expect(await failureOf(fencedSet(carrierOf(connection), write))).toMatchObject(isUnknown)
    await opened.discard()
  })
})

describe('an answer that its script cannot give', () => {
  const warnings = useWarnings()

  it.each([['OK'], [null], [7], [['1']], [{}]])('%j: unknown, told, and tried on', async (reply) => {
    const connection = rig.connection()
    const locks = await rig.client({}, connection)
    await locks.getLock('warm').withLock(() => undefined)
    const told = nextEvent(locks, 'unexpected-reply')
    answerOnce(connection, reply)
    const hold = await soon(locks.getLock(NAME).acquire())
    const { script, lockName, error }: LockEvents['unexpected-reply'] = await told
    expect({ script, lockName }).toEqual({ script: 'lock/acquire', lockName: NAME })
    expect(error).toBeInstanceOf(RedisUnavailableError)
    expect(error).toMatchObject({ outcome: 'unknown', transient: true })
    expect(await hold.release()).toBe('released')
  })

  it('without a listener is a process warning, once', async () => {
    const connection = rig.connection()
    const locks = await rig.client({}, connection)
    const opened = await transaction(connection)
    await failureOf(locks.getLock(NAME).isLocked())
    await failureOf(locks.getLock(NAME).isLocked())
    expect(await warnings.delivered('HOLDFAST_REPLY', 'MULTI')).toHaveLength(1)
    await opened.discard()
  })
})

/** Something between Redis and the client changes one answer of a script. */
function answerOnce(connection: Redis, reply: unknown): void {
  const client = carrierOf(connection) as unknown as Record<string, (...args: unknown[]) => unknown>
  const usual = client['sendCommand']!
  client['sendCommand'] = (...args) => {
    client['sendCommand'] = usual
    const [command] = args as [{ resolve?: (reply: unknown) => void }]
    const { resolve } = command
    if (!resolve) {
      return Promise.resolve(usual.apply(client, args)).then(() => reply)
    }
    // Commands of ioredis hear of their own replies.
    command.resolve = () => resolve(reply)
    return usual.apply(client, args)
  }
}

/** Waits until the undo of a failed call has been sent. */
async function settled(locks: LockClient): Promise<void> {
  const { session } = locks as unknown as { session: { background: { whenOver(): Promise<void> } } }
  await soon(session.background.whenOver())
}
