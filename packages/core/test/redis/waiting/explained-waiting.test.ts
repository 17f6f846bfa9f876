import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import type { LockClient, LockEvents, LockTimeoutError, Semaphore } from '../../../src/index.js'
import { getElection } from '../../../src/entries/election/index.js'
import { outcomeOf } from '../support/outcomes.js'
import { campaign } from '../support/campaign.js'
import { eventually, own, soon, useRig } from '../support/rig.js'
import { useWarnings } from '../support/warnings.js'

// A caller that waits, or has waited in vain, is told why.

const NAME = 'order:42'
type Waiting = LockEvents['waiting']

const rig = useRig()
const locks = own(() => rig.client({ clientName: 'orders' }))
const others = own(() => rig.client({ clientName: 'others' }))
const slow = own(() => rig.slow({ clientName: 'others' }))

const timeoutOf = async (call: Promise<unknown>): Promise<LockTimeoutError> =>
  (await outcomeOf(call)) as LockTimeoutError

function heardBy(client: LockClient): Waiting[] {
  const heard: Waiting[] = []
  client.on('waiting', (event) => heard.push(event))
  return heard
}

describe('LOCK_TIMEOUT', () => {
  it('names client and thread, the lower bound of the time, and the lease left', async () => {
    const hold = await locks.getLock(NAME).acquire()
    const heard = heardBy(slow)
    const first = slow.getLock(NAME).acquire()
    // The head of the line was refused: from then on this client knows.
    await eventually(() => heard.length === 1)
    const error = await timeoutOf(slow.getLock(NAME).acquire({ waitMs: 1 }))
    expect(error.message).toMatch(
      /^Lock "order:42" not acquired in \d+ ms: orders \(thread \d+\) has held it for at least \d+(\.\d)? m?s, \d+(\.\d)? s of lease left\. Try again later, or wait longer \(waitMs\)\.$/,
    )
    const [, clientId, threadId] = /^(.*):(\d+)$/.exec(hold.owner) ?? []
    expect(clientId).toMatch(/^orders~/)
    expect(error.holder).toMatchObject({ owner: hold.owner, clientName: 'orders', threadId, holds: 1 })
    expect(error.holder).not.toHaveProperty('heldForMs')
    await hold.release()
    await (await soon(first)).release()
  })

  it.each([
    ['acquire', () => slow.getLock(NAME).acquire({ waitMs: 1 })],
    ['acquire without a wait', () => others.getLock(NAME).acquire({ waitMs: 0 })],
    ['withLock', () => slow.getLock(NAME).withLock(() => undefined, { waitMs: 1 })],
    ['fair lock', () => slow.getFairLock(`${NAME}:fair`).acquire({ waitMs: 1 })],
  ])('has a stack that tells who called: %s', async (_, call) => {
    const holds = [await locks.getLock(NAME).acquire(), await locks.getFairLock(`${NAME}:fair`).acquire()]
    const takeStock = async (): Promise<unknown> => await call()
    const { stack } = await timeoutOf(takeStock())
    expect(stack).toMatch(/at (async )?takeStock/)
    await Promise.all(holds.map((hold) => hold.release()))
  })

  it('LOCK_TIMEOUT of a fair lock: the place in the queue', async () => {
    const hold = await locks.getFairLock(NAME).acquire()
    const first = others.getFairLock(NAME).acquire()
    await eventually(async () => (await rig.admin.llen(`redisson_lock_queue:{${NAME}}`)) === 1)
    const error = await timeoutOf(slow.getFairLock(NAME).acquire({ waitMs: 1 }))
    expect(error).toMatchObject({ holder: { owner: hold.owner, holds: 1 }, placeInLine: 2 })
    expect(error.message).toMatch(
      /: orders \(thread \d+\) (has held|holds) it.*; place 2 in line\. Try again later/,
    )
    await hold.release()
    await (await soon(first)).release()
  })

  it('LOCK_TIMEOUT of a writer that readers refuse: one of them, and how many others', async () => {
    const reads = await Promise.all(
      [locks, locks, others].map((client) => client.getReadWriteLock(NAME).readLock().acquire()),
    )
    const writer = (await rig.client()).getReadWriteLock(NAME).writeLock()
    const error = await timeoutOf(writer.acquire({ waitMs: 0 }))
    expect(error.holder?.others).toBe(2)
    expect(reads.map(({ owner }) => owner)).toContain(error.holder?.owner)
    expect(error.message).toMatch(
      /\(thread \d+\) (holds it|has held it for at least \d+(\.\d)? m?s), and 2 others with it, /,
    )
    await Promise.all(reads.map((hold) => hold.release()))
  })

  it('LOCK_TIMEOUT of a reader that a writer refuses which reads besides: the writer', async () => {
    await locks.run(async () => {
      const lock = locks.getReadWriteLock(NAME)
      const write = await lock.writeLock().acquire()
      const read = await lock.readLock().acquire()
      const error = await timeoutOf(others.getReadWriteLock(NAME).readLock().acquire({ waitMs: 0 }))
      expect(error.holder).toMatchObject({ owner: write.owner, clientName: 'orders', others: 1 })
      await write.release()
      await read.release()
    })
  })

  it('LOCK_TIMEOUT of a multi lock: the member, and who has it', async () => {
    const hold = await locks.getLock('b').acquire()
    const both = slow.getMultiLock(slow.getLock('a'), slow.getLock('b'))
    const error = await timeoutOf(both.acquire({ waitMs: 1 }))
    expect(error).toMatchObject({ lockName: 'b', holder: { clientName: 'orders' } })
    expect(error.message).toMatch(
      /^Member "b" not acquired in \d+ ms: orders \(thread \d+\) (has held|holds) it/,
    )
    await hold.release()
  })

  it('LOCK_TIMEOUT of a semaphore: how many permits were free, as the refusal told', async () => {
    const semaphore = others.getSemaphore('pool')
    await semaphore.trySetPermits(2)
    await rig.server.resetStats()
    const error = await timeoutOf(semaphore.acquire({ permits: 3, waitMs: 0 }))
    expect((await rig.server.commandStats()).get('evalsha')).toBe(1)
    expect(error).toMatchObject({ permitsLeft: 2, permitsWanted: 3, holder: undefined })
    expect(error.message).toMatch(
      /^3 permits of semaphore "pool" not acquired in \d+ ms: only 2 are free, 3 are wanted\. /,
    )
    await rig.admin.del('pool')
    const expirable = others.getPermitExpirableSemaphore('pool')
    await expirable.trySetPermits(1)
    expect(await timeoutOf(expirable.acquireMany(2, { waitMs: 0 }))).toMatchObject({ permitsLeft: 1 })
    await rig.admin.del('pool')
  })

  it('LOCK_TIMEOUT of a semaphore, of a caller that never came to try: what the head of its line was told', async () => {
    const semaphore = slow.getSemaphore('pool')
    await semaphore.trySetPermits(1)
    const abort = new AbortController()
    const heard = heardBy(slow)
    const head = outcomeOf(semaphore.acquire({ permits: 2, signal: abort.signal }))
    await eventually(() => heard.length === 1)
    expect(heard[0]).toMatchObject({ permits: { wanted: 2, free: 1, isMissing: false } })
    const error = await timeoutOf(semaphore.acquire({ permits: 3, waitMs: 1 }))
    expect(error).toMatchObject({ permitsLeft: 1, permitsWanted: 3 })
    expect(error.message).toMatch(
      /ms: only 1 is free, 3 are wanted\. Callers that want no more than is free go first/,
    )
    await semaphore.addPermits(-1)
    const none = await timeoutOf(semaphore.acquire({ permits: 3, waitMs: 1 }))
    expect(none.message).toMatch(/ms: none is free\. Wait longer, or look for a caller that does not release/)
    abort.abort()
    await head
    await rig.admin.del('pool')
  })

  it.each(['getSemaphore', 'getPermitExpirableSemaphore'] as const)(
    'LOCK_TIMEOUT of a semaphore of %s that nobody made: trySetPermits',
    async (getter) => {
      const semaphore = slow[getter]('nobody:made')
      const message =
        /ms: there is no such semaphore\. Call trySetPermits\(n\) once, before the first acquire\.$/
      expect((await timeoutOf(semaphore.acquire({ waitMs: 0 }))).message).toMatch(message)
      const heard = heardBy(slow)
      const waiting: Promise<unknown> = semaphore.acquire({ waitMs: 60_000 })
      await eventually(() => heard.length === 1)
      expect(heard[0]).toMatchObject({ permits: { wanted: 1, free: 0, isMissing: true } })
      expect((await timeoutOf(semaphore.acquire({ waitMs: 1 }))).message).toMatch(message)
      await semaphore.trySetPermits(1)
      await soon(waiting)
      expect((await timeoutOf(semaphore.acquire({ waitMs: 0 }))).message).toMatch(/none is free/)
      await rig.admin.del('nobody:made', '{nobody:made}:timeout')
    },
  )
})

describe('a wait without a limit for a semaphore that nobody made', () => {
  const warnings = useWarnings()

  it('is warned of once per name, and not where it came into being', async () => {
    const [made, forgotten] = ['made:late', 'forgotten'].map((name) => others.getSemaphore(name)) as [
      Semaphore,
      Semaphore,
    ]
    const abort = new AbortController()
    const late = made.acquire()
    const waits = [1, 2].map(() => outcomeOf(forgotten.acquire({ signal: abort.signal })))
    await eventually(async () => (await rig.admin.pubsub('NUMSUB', 'redisson_sc:{made:late}'))[1] === 1)
    await made.trySetPermits(1)
    await soon(late)
    const again = made.acquire({ signal: abort.signal }).catch(() => undefined)
    await eventually(() => warnings.of('HOLDFAST_NO_PERMITS').length > 0, 5_000)
    const [warning] = warnings.of('HOLDFAST_NO_PERMITS', 'forgotten')
    expect(warning?.message).toMatch(/"forgotten", which does not exist\. Call trySetPermits\(n\) once/)
    abort.abort()
    await Promise.all([...waits, again])
    expect(await warnings.delivered('HOLDFAST_NO_PERMITS')).toHaveLength(1)
    await rig.admin.del('made:late')
  })
})

describe('the event waiting', () => {
  it('comes at once by default, with what is known', async () => {
    const hold = await locks.getLock(NAME).acquire()
    const heard = heardBy(others)
    const first = others.getLock(NAME).acquire()
    await eventually(() => heard.length === 1)
    const second = others.getLock(NAME).acquire()
    const third = others.getLock(NAME).acquire()
    await eventually(() => heard.length === 3)
    expect(heard.map(({ aheadHere }) => aheadHere)).toEqual([0, 1, 2])
    for (const event of heard) {
      expect(event).toMatchObject({ lockName: NAME, holder: { owner: hold.owner }, placeInLine: undefined })
      expect(event.waitedMs).toBeLessThan(3_000)
    }
    await hold.release()
    for (const each of [first, second, third]) {
      await (await soon(each)).release()
    }
    expect(heard).toHaveLength(3)
  })

  it('after a threshold: once per call, with who has the lock by then', async () => {
    const clock = new ManualClock()
    const client = await rig.client({ waitingThreshold: 500, resyncInterval: 20, runtime: clock })
    const heard = heardBy(client)
    const former = await locks.getLock(NAME).acquire()
    const waits = [client.getLock(NAME).acquire(), client.getLock(NAME).acquire()]
    // Behind the refusals of those that wait, and of what they ask when they hear messages.
    const isAnswered = async (): Promise<void> => {
      await rig.heard(NAME)
      await client.getLock(NAME).isLocked()
    }
    await isAnswered()
    const short = timeoutOf(client.getLock(NAME).acquire({ waitMs: 20 }))
    await clock.advance(20)
    expect((await short).waitedMs).toBeGreaterThanOrEqual(20)
    const next = await rig.admin.multi().del(NAME).hset(NAME, 'java:1', '1').pexpire(NAME, 60_000).exec()
    expect(next).toHaveLength(3)
    await clock.advance(20)
    await isAnswered()
    expect(heard).toEqual([])
    await clock.advance(460)
    await eventually(() => heard.length === 2)
    expect(heard.map(({ aheadHere }) => aheadHere).sort()).toEqual([0, 1])
    for (const { holder, waitedMs } of heard) {
      expect(holder?.owner).toBe('java:1')
      expect(waitedMs).toBeGreaterThanOrEqual(500)
    }
    await rig.admin.multi().del(NAME).publish(`redisson_lock__channel:{${NAME}}`, '0').exec()
    for (const each of waits) {
      await (await soon(each)).release()
    }
    expect(heard).toHaveLength(2)
    await former.release()
  })

  it('the event waiting of a fair lock after a threshold: the place in the queue', async () => {
    const clock = new ManualClock()
    const client = await rig.client({ waitingThreshold: 50, resyncInterval: 20_000, runtime: clock })
    const heard = heardBy(client)
    const hold = await locks.getFairLock(NAME).acquire()
    const waits = [client.getFairLock(NAME).acquire(), client.getFairLock(NAME).acquire()]
    await eventually(async () => (await rig.admin.llen(`redisson_lock_queue:{${NAME}}`)) === 2)
    // Behind the refusals.
    await client.getFairLock(NAME).isLocked()
    await clock.advance(50)
    await eventually(() => heard.length === 2)
    expect(heard.map(({ placeInLine }) => placeInLine).sort()).toEqual([1, 2])
    await hold.release()
    await Promise.all(waits.map(async (each) => (await soon(each)).release()))
  })

  it('the event waiting of a candidate of an election: who leads, and its place in the queue, in each campaign', async () => {
    const heard = heardBy(others)
    const leading = campaign(getElection(locks, NAME))
    const term = await leading.next()
    const waits = [campaign(getElection(others, NAME)), campaign(getElection(others, NAME))]
    await eventually(() => heard.length === 2)
    for (const event of heard) {
      expect(event).toMatchObject({ lockName: NAME, holder: { owner: term.owner, clientName: 'orders' } })
    }
    expect(heard.map(({ placeInLine }) => placeInLine).sort()).toEqual([1, 2])
    await locks.close()
    const next = await soon(Promise.race(waits.map((each) => each.next())))
    expect(next.owner).toContain(others.clientId)
    await others.close()
    await Promise.all([leading, ...waits].map(({ over }) => over))
  })

  it('the event waiting of a permit and a latch, too', async () => {
    const client = await rig.client({ waitingThreshold: 30 })
    const heard = heardBy(client)
    const latch = client.getCountDownLatch('latch')
    await latch.trySetCount(1)
    const passing = latch.await()
    const permit = client.getSemaphore('pool').acquire()
    await eventually(() => heard.length === 2)
    expect(heard.map(({ lockName }) => lockName).sort()).toEqual(['latch', 'pool'])
    await latch.countDown()
    await client.getSemaphore('pool').release()
    await Promise.all([soon(passing), soon(permit)])
    await rig.admin.del('pool')
  })
})
