import { describe, expect, it } from '@jest/globals'
import type { Fault, FaultProxy } from '@holdfast/faults/harness'
import { LockLostError, type Hold } from '../../../src/index.js'
import { rename, renameScript } from '../../../src/scripts/lock.js'
import { nextEvent, outcomeOf } from '../support/outcomes.js'
import { heldAndAwaited, passer, type Passer } from '../support/passing.js'
import { runsOf } from '../support/requests.js'
import { eventually, signalled, soon, useRig } from '../support/rig.js'

const NAME = 'order:42'

const rig = useRig()
const owners = () => rig.admin.hgetall(NAME)
const isRename = runsOf(renameScript)

/** A hold that was passed on, at the other end of a proxy. */
async function passed(
  prepare: (proxy: FaultProxy) => Fault,
): Promise<{ first: Hold; next: Hold; fault: Fault; client: Passer }> {
  const proxy = await rig.proxy()
  // Otherwise ioredis sends it again, and nothing is unknown.
  const connection = rig.connection({ autoResendUnfulfilledCommands: false }, proxy)
  // Half a second on the clock of the wall.
  const client = await passer(rig, { commandTimeout: 0.5 }, connection)
  const { hold: first, waiting } = await heldAndAwaited(rig, client, NAME)
  const fault = prepare(proxy)
  await first.release()
  return { first, next: await soon(waiting), fault, client }
}

describe.each([
  ['never arrives', (proxy: FaultProxy) => proxy.loseRequest(isRename)],
  ['has no answer', (proxy: FaultProxy) => proxy.loseReply(isRename)],
])('a rename that %s', (_what, prepare) => {
  it('leaves the hold as good as it was, and nothing behind its release (I2)', async () => {
    const { next, fault } = await passed(prepare)
    await eventually(() => fault.count === 1)
    expect(next.signal.aborted).toBe(false)
    expect(await soon(next.release())).toBe('released')
    expect(await rig.contents()).toEqual({})
  })

  it('is made good before a level is added', async () => {
    const { next, fault, client } = await passed(prepare)
    await eventually(() => fault.count === 1)
    await soon(next.extend(60_000))
    expect(await owners()).toEqual({ [next.owner]: '1' })
    await next.verify()
    await next.release()
    await (await soon(client.locks.getLock(NAME).acquire())).release()
  })

  it('is sent again until the name is known, so that renewals go on', async () => {
    const { next, fault } = await passed(prepare)
    await eventually(() => fault.count === 1)
    await eventually(async () => next.owner in (await owners()))
    expect(await soon(next.release())).toBe('released')
    expect(await rig.contents()).toEqual({})
  })

  it('is no loss when a renewal asks meanwhile (I3)', async () => {
    const { next, fault, client } = await passed(prepare)
    await eventually(() => fault.count === 1)
    await rig.admin.pexpire(NAME, 15_000)
    client.clock.skip(10_100)
    expect(next.trustedForMs).toBeGreaterThan(0)
    await (await soon(client.locks.getLock('another').acquire())).release()
    await soon(next.verify())
    expect(next.signal.aborted).toBe(false)
    expect(await soon(next.release())).toBe('released')
  })
})

it('a rename that comes late changes nothing, whoever has the lock then (I1)', async () => {
  const taken = signalled()
  const { next, fault } = await passed((proxy) => proxy.copyLate(isRename, taken.promise))
  await eventually(async () => next.owner in (await owners()))
  await next.release()
  const others = await rig.client()
  const other = await others.getLock(NAME).acquire()
  taken.resolve()
  await soon(fault.happened)
  await rig.admin.ping()
  expect(await owners()).toEqual({ [other.owner]: '1' })
  await other.release()
  expect(await rig.contents()).toEqual({})
})

describe('a lock that is passed on after somebody removed it', () => {
  it('by force: its holder is told, by whichever of its names (I1)', async () => {
    const client = await passer(rig)
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME)
    await hold.release()
    const next = await soon(waiting)
    await eventually(async () => next.owner in (await owners()))
    const lost = nextEvent(client.locks, 'lost')
    // Does and tells what forceUnlock does, when it ran before the name had followed.
    await rig.admin.del(NAME)
    await rig.admin.publish(`holdfast:client:${client.locks.clientId}`, hold.owner)
    expect(await lost).toMatchObject({ owner: next.owner, error: { reason: 'forced' } })
    await rig.admin.del(NAME)
  })

  it('without a word: the rename creates nothing, and its holder is told (I6)', async () => {
    const client = await passer(rig)
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME)
    const lost = nextEvent(client.locks, 'lost')
    await rig.admin.del(NAME)
    await hold.release()
    const next = await soon(waiting)
    expect(await lost).toMatchObject({ owner: next.owner, error: { reason: 'gone' } })
    expect(await next.release()).toBe('lost')
    expect(await rig.contents()).toEqual({})
  })

  it('a lock that is passed on after somebody removed it, and somebody else took it: their hold is not touched (I1)', async () => {
    const client = await passer(rig)
    const { hold, waiting } = await heldAndAwaited(rig, client, NAME)
    await rig.admin.del(NAME)
    const others = await rig.client()
    const other = await others.getLock(NAME).acquire()
    await hold.release()
    const next = await soon(waiting)
    expect(await outcomeOf(next.verify())).toBeInstanceOf(LockLostError)
    expect(await owners()).toEqual({ [other.owner]: '1' })
    await other.release()
  })
})

describe('lock/rename', () => {
  const to = { owner: 'c:3', note: undefined }
  const command = { lockName: NAME, key: NAME, to, from: ['c:1', 'c:2'] }
  const take = async (owner: string, holds: number) => {
    await rig.admin.hset(NAME, owner, holds)
    await rig.admin.pexpire(NAME, 30_000)
  }

  it('moves the count of whichever it finds, and keeps the time to live', async () => {
    await take('c:2', 5)
    expect(await rename(rig.runner(), command)).toEqual({ kind: 'renamed' })
    expect(await owners()).toEqual({ 'c:3': '5' })
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(25_000)
    expect(await rename(rig.runner(), command)).toEqual({ kind: 'renamed' })
    await rig.admin.del(NAME)
  })

  it('never creates (I6)', async () => {
    expect(await rename(rig.runner(), command)).toEqual({ kind: 'lost' })
    expect(await rig.contents()).toEqual({})
    await take('x:1', 1)
    expect(await rename(rig.runner(), command)).toEqual({ kind: 'lost' })
    expect(await owners()).toEqual({ 'x:1': '1' })
    await rig.admin.del(NAME)
  })

  it('works when Redis is out of memory', async () => {
    await take('c:1', 1)
    await rig.outOfMemory(async () =>
      expect(await rename(rig.runner(), command)).toEqual({ kind: 'renamed' }),
    )
    await rig.admin.del(NAME)
  })
})
