import { describe, expect, it } from '@jest/globals'
import { BELIEVES, KNOWS_BETTER, belief, failureOf, nextLoss } from './support/losses.js'
import { eventually, own, soon, useRig } from './support/rig.js'
import { Stalls } from './support/stalls.js'

const NAME = 'order:42'
const HOUR_MS = 3_600_000

const rig = useRig()
const locks = own(() => rig.client())
const others = own(() => rig.client({ resyncInterval: 20_000 }))

// Redis keeps the end of a lease on its wall clock. A step of that clock and a move of the end are the same thing.
const stepForward = async (ms: number): Promise<void> => moveEnd(-ms)
const stepBack = async (ms: number): Promise<void> => moveEnd(ms)

async function moveEnd(ms: number): Promise<void> {
  const left = await rig.admin.pttl(NAME)
  const [seconds, micros] = (await rig.admin.time()).map(Number) as [number, number]
  await rig.admin.pexpireat(NAME, Math.floor(seconds * 1_000 + micros / 1_000) + left + ms)
}

describe('the clock of Redis steps forward', () => {
  it('past the lease: verify sees it at once, and nothing local does (I1)', async () => {
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
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 60_000 })
    await stepForward(30_000)
    expect(hold.trustedForMs).toBeGreaterThan(30_000)
    await hold.verify()
    expect(hold.trustedForMs).toBeLessThanOrEqual(30_000 - 350)
    expect(hold.trustedForMs).toBeGreaterThan(20_000)
    expect(await hold.release()).toBe('released')
  })
})

describe('the clock of Redis steps back', () => {
  it('changes nothing for a holder: its trust does not grow, and its release lets others in at once (I3, I4)', async () => {
    const hold = await locks.getLock(NAME).acquire()
    await stepBack(HOUR_MS)
    expect(hold.trustedForMs).toBeLessThanOrEqual(30_000)
    const waiting = others.getLock(NAME).acquire()
    await eventually(async () => (await rig.admin.pubsub('CHANNELS', `*{${NAME}}`)).length === 1)
    expect(await hold.release()).toBe('released')
    expect(await (await soon(waiting)).release()).toBe('released')
  })

  it('a fixed lease still ends when its holder thinks so, and not an hour later (I3)', async () => {
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
