import { describe, expect, it } from '@jest/globals'
import { fencedSet, type AcquireOptions, type FencedHold } from '../../src/index.js'
import { BELIEVES, KNOWS_BETTER, belief, failureOf, nextLoss } from './support/losses.js'
import { eventually, soon, useRig } from './support/rig.js'
import { Stalls } from './support/stalls.js'

const NAME = 'order:42'
const LEASE_MS = 1_500
const HOUR_MS = 3_600_000

const rig = useRig()

// Redis keeps the end of a lease on its wall clock. A step of that clock and a move of the end are the same thing.
const stepForward = async (ms: number): Promise<void> => moveEnd(-ms)
const stepBack = async (ms: number): Promise<void> => moveEnd(ms)

async function moveEnd(ms: number): Promise<void> {
  const left = await rig.admin.pttl(NAME)
  const [seconds, micros] = (await rig.admin.time()).map(Number) as [number, number]
  await rig.admin.pexpireat(NAME, Math.floor(seconds * 1_000 + micros / 1_000) + left + ms)
}

describe('the clock of Redis steps forward', () => {
  it('past the lease: others get in, and the holder is told at its next renewal (I1)', async () => {
    const [locks, others] = [
      await rig.client({ lockWatchdogTimeout: LEASE_MS }),
      await rig.client({ resyncInterval: 200 }),
    ]
    const hold = await locks.getLock(NAME).acquire()
    const told = nextLoss(locks)
    const waiting = others.getLock(NAME).acquire()
    await eventually(async () => (await rig.admin.pubsub('CHANNELS', `*{${NAME}}`)).length === 1)
    const stalls = new Stalls()
    await stepForward(HOUR_MS)
    const steppedAt = performance.now()
    const next = await soon(waiting)
    const { event, atMs } = await told
    expect(event).toMatchObject({ owner: hold.owner, error: { reason: 'gone' } })
    expect(atMs - steppedAt).toBeLessThan(LEASE_MS / 2 + stalls.end())
    expect(await hold.release()).toBe('lost')
    await next.verify()
    expect(await next.release()).toBe('released')
  })

  it('past the lease: verify sees it at once, and nothing local does (I1)', async () => {
    const locks = await rig.client()
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 60_000 })
    await stepForward(HOUR_MS)
    expect(belief(hold)).toEqual(BELIEVES)
    expect(await failureOf(hold.verify())).toMatchObject({ reason: 'gone' })
    expect(belief(hold)).toEqual(KNOWS_BETTER)
  })

  it('within the lease: the next renewal makes it whole again', async () => {
    const locks = await rig.client({ lockWatchdogTimeout: 3_000 })
    const hold = await locks.getLock(NAME).acquire()
    await stepForward(1_500)
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(1_500)
    await eventually(async () => (await rig.admin.pttl(NAME)) > 1_500)
    expect(belief(hold)).toEqual(BELIEVES)
    expect(await hold.release()).toBe('released')
  })

  it('within a fixed lease: verify shortens trust to what is left (I3)', async () => {
    const locks = await rig.client()
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 60_000 })
    await stepForward(30_000)
    expect(hold.trustedForMs).toBeGreaterThan(30_000)
    await hold.verify()
    expect(hold.trustedForMs).toBeLessThanOrEqual(30_000 - 350)
    expect(hold.trustedForMs).toBeGreaterThan(20_000)
    expect(await hold.release()).toBe('released')
  })
})

describe.each(['counter', 'time'] as const)('a fenced lock, tokens by %s', (tokens) => {
  const KEY = 'order:42:state'
  const renewed: AcquireOptions = {}

  it.each([
    ['a renewed holder', renewed],
    ['the holder of a fixed lease', { leaseMs: 60_000 }],
  ])('the clock steps forward: what %s writes late is refused (I1, I9)', async (_who, options) => {
    const [one, two] = [await rig.client(), await rig.client()]
    const data = rig.connection()
    const write = ({ token }: FencedHold, value: string) => fencedSet(data, { key: KEY, token, value })
    const stale = await one.getFencedLock(NAME, { tokens }).acquire(options)
    expect(await write(stale, 'first')).toMatchObject({ accepted: true })
    await stepForward(HOUR_MS)
    const next = await soon(two.getFencedLock(NAME, { tokens }).acquire())
    expect(await write(next, 'second')).toMatchObject({ accepted: true })
    expect(belief(stale)).toEqual(BELIEVES)
    expect(await write(stale, 'too late')).toEqual({ accepted: false, highestToken: next.token })
    expect(await rig.admin.hget(KEY, 'value')).toBe('second')
    expect(await stale.release()).toBe('lost')
    expect(await next.release()).toBe('released')
    await rig.admin.del(KEY)
  })

  it('the clock was an hour ahead and is set back: tokens go on growing (I9)', async () => {
    const lock = (await rig.client()).getFencedLock(NAME, { tokens })
    const [seconds] = await rig.admin.time()
    const ahead = `${(BigInt(seconds ?? 0) + 3_600n) * 1_000_000n}`
    await rig.admin.set(`redisson_lock_token:{${NAME}}`, ahead)
    const hold = await lock.acquire()
    expect(BigInt(hold.token)).toBe(BigInt(ahead) + 1n)
    await hold.release()
  })
})

describe('the clock of Redis steps back', () => {
  it('changes nothing for a holder: its trust does not grow, and its release lets others in at once (I3, I4)', async () => {
    const [locks, others] = [await rig.client(), await rig.client({ resyncInterval: 20_000 })]
    const hold = await locks.getLock(NAME).acquire()
    await stepBack(HOUR_MS)
    expect(hold.trustedForMs).toBeLessThanOrEqual(30_000)
    const waiting = others.getLock(NAME).acquire()
    await eventually(async () => (await rig.admin.pubsub('CHANNELS', `*{${NAME}}`)).length === 1)
    expect(await hold.release()).toBe('released')
    expect(await (await soon(waiting)).release()).toBe('released')
  })

  it('a fixed lease still ends when its holder thinks so, and not an hour later (I3)', async () => {
    const [locks, others] = [await rig.client(), await rig.client({ resyncInterval: 20_000 })]
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 500 })
    const told = nextLoss(locks)
    await stepBack(HOUR_MS)
    const next = await soon(others.getLock(NAME).acquire())
    expect((await told).event).toMatchObject({ owner: hold.owner, error: { reason: 'expired' } })
    expect(await next.release()).toBe('released')
  })

  it('a holder that crashes keeps others out longer by the step, and no longer', async () => {
    const connection = rig.connection({ retryStrategy: () => null })
    const locks = await rig.client({ lockWatchdogTimeout: 600 }, connection)
    const others = await rig.client({ resyncInterval: 20_000 })
    locks.on('lost', () => undefined)
    await locks.getLock(NAME).acquire()
    await stepBack(900)
    // No word of it reaches Redis any more.
    connection.disconnect()
    const crashedAt = performance.now()
    const stalls = new Stalls()
    const next = await soon(others.getLock(NAME).acquire())
    const tookMs = performance.now() - crashedAt
    expect(tookMs).toBeGreaterThan(900)
    expect(tookMs).toBeLessThan(600 + 900 + 500 + stalls.end())
    expect(await next.release()).toBe('released')
  })
})
