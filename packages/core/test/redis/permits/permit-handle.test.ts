import { beforeEach, describe, expect, it } from '@jest/globals'
import { LockLostError } from '../../../src/index.js'
import { updateLeaseScript } from '../../../src/scripts/permit-semaphore.js'
import { aborted } from '../support/outcomes.js'
import { runsOf } from '../support/requests.js'
import { eventually, own, signalled, soon, useRig } from '../support/rig.js'

const NAME = 'seats'
const TIMEOUTS = '{seats}:timeout'
const TERMS = [
  ['a lease', { leaseMs: 60_000 }],
  ['renewal', { renew: true }],
] as const
const rig = useRig()
const locks = own(() => rig.client({ lockWatchdogTimeout: 3_000 }))
const semaphore = own(() => locks.getPermitExpirableSemaphore(NAME))
beforeEach(async () => {
  await semaphore.trySetPermits(1)
  rig.atEnd(expectFree)
})

const expectFree = async (): Promise<void> => {
  expect([await rig.admin.get(NAME), await rig.admin.zcard(TIMEOUTS)]).toEqual(['1', 0])
  await rig.admin.del(NAME)
}
const endOf = async ({ id }: { id: string }): Promise<number> =>
  Number(await rig.admin.zscore(TIMEOUTS, Buffer.from(id, 'hex')))

describe('a permit that is an object', () => {
  it('has an id, trust that ends before its lease, and is released once', async () => {
    const permit = await semaphore.acquirePermit({ leaseMs: 60_000 })
    const [id] = await rig.admin.zrangeBuffer(TIMEOUTS, 0, '-1')
    expect(permit.id).toBe(id!.toString('hex'))
    expect(permit.trustedForMs).toBeGreaterThan(50_000)
    expect(permit.trustedForMs).toBeLessThan(60_000)
    expect(await permit.release()).toBe('released')
    expect(await permit.release()).toBe('already-released')
    expect([permit.trustedForMs, permit.lossError]).toEqual([0, null])
  })

  it('is renewed by the watchdog for as long as it is held, and never after', async () => {
    const permit = await semaphore.acquirePermit({ renew: true })
    const first = await endOf(permit)
    await eventually(async () => (await endOf(permit)) > first + 900)
    expect(permit.signal.aborted).toBe(false)
    expect(await semaphore.tryAcquire()).toBeNull()
    expect(await permit.release()).toBe('released')
  })

  it('tells its holder before somebody else can have it (I3)', async () => {
    const permit = await semaphore.acquirePermit({ leaseMs: 300 })
    const lost = aborted(permit.signal)
    const next = semaphore.acquire().then((id) => (expect(permit.signal.aborted).toBe(true), id))
    const reason = await soon(lost)
    expect(reason).toBeInstanceOf(LockLostError)
    expect(reason).toMatchObject({ reason: 'expired', lockName: NAME, owner: permit.id })
    expect(await permit.release()).toBe('lost')
    await semaphore.release(await soon(next))
  })

  it('is lost at the next renewal when somebody else released it: gone, and nothing is created (I6)', async () => {
    const events: unknown[] = []
    locks.on('lost', (event) => events.push(event.owner))
    const permit = await semaphore.acquirePermit({ renew: true })
    const lost = aborted(permit.signal)
    await semaphore.release(permit.id)
    expect(await soon(lost)).toMatchObject({ reason: 'gone' })
    expect(events).toEqual([permit.id])
    await expect(permit.updateLease(1_000)).rejects.toThrow(LockLostError)
  })

  it.each(TERMS)(
    'with %s: is over before its semaphore ends, when another may begin (I3)',
    async (_what, terms) => {
      await rig.admin.del(NAME)
      await semaphore.trySetPermits(1, 1_500)
      const permit = await semaphore.acquirePermit(terms)
      expect(permit.trustedForMs).toBeLessThan(1_500)
      await eventually(async () => (await rig.admin.exists(NAME)) === 0)
      expect([permit.signal.aborted, permit.lossError?.reason]).toEqual([true, 'expired'])
      await semaphore.trySetPermits(1)
      await semaphore.release(await soon(semaphore.acquire()))
    },
  )

  it('updateLease sets its end, and what it is trusted for', async () => {
    const permit = await semaphore.acquirePermit({ leaseMs: 60_000 })
    await permit.updateLease(10_000)
    expect(permit.trustedForMs).toBeLessThan(10_000)
    expect(permit.trustedForMs).toBeGreaterThan(5_000)
    await permit.release()
  })

  it('extend makes it last at least so long, as of a hold, and never shortens it', async () => {
    const permit = await semaphore.acquirePermit({ leaseMs: 5_000 })
    await permit.extend(60_000)
    expect(permit.trustedForMs).toBeGreaterThan(30_000)
    const longest = await endOf(permit)
    await permit.extend(1_000)
    expect([await endOf(permit), permit.trustedForMs > 30_000]).toEqual([longest, true])
    await expect(permit.extend(0)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'ms' })
    await permit.release()
    await expect(permit.extend(1_000)).rejects.toMatchObject({ code: 'NOT_LOCK_OWNER', lockName: NAME })
  })

  it('verify asks Redis whether it is still held, and until when', async () => {
    const permit = await semaphore.acquirePermit({ leaseMs: 60_000 })
    await permit.verify()
    await semaphore.updateLeaseTime(permit.id, 10_000)
    await permit.verify()
    expect(permit.trustedForMs).toBeLessThan(10_000)
    await semaphore.release(permit.id)
    expect(permit.isLost).toBe(false)
    await expect(permit.verify()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'gone' })
    expect([permit.isLost, permit.signal.aborted]).toEqual([true, true])
  })

  it.each(TERMS)(
    'with %s and an earlier end without an answer: it is over before anybody else has it (I3)',
    async (_what, terms) => {
      const { proxy, locks: client } = await rig.proxied({ lockWatchdogTimeout: 60_000 })
      const permit = await client.getPermitExpirableSemaphore(NAME).acquirePermit(terms)
      const lost = proxy.loseReply(runsOf(updateLeaseScript))
      const updating = permit.updateLease(400)
      const ended = expect(soon(updating)).rejects.toThrow(LockLostError)
      await lost.happened
      proxy.refuse()
      const next = await soon(semaphore.acquire())
      expect([permit.trustedForMs, permit.lossError?.reason]).toEqual([0, 'expired'])
      proxy.pass()
      await ended
      await semaphore.release(next)
    },
  )

  it('takes one new end after the other, and is renewed on after the last', async () => {
    const permit = await semaphore.acquirePermit({ renew: true })
    await Promise.all([permit.updateLease(5_000), permit.updateLease(2_000)])
    expect(permit.trustedForMs).toBeLessThan(2_000)
    await eventually(() => permit.trustedForMs > 2_000)
    expect(await permit.release()).toBe('released')
  })

  it('close aborts its signal and releases it', async () => {
    const permit = await semaphore.acquirePermit({ renew: true })
    const lost = aborted(permit.signal)
    await locks.close({ graceMs: 0 })
    expect(await lost).toMatchObject({ reason: 'closed' })
  })

  it.each([
    ['options', undefined as never],
    ['options', {}],
    ['options', { renew: true, leaseMs: 1_000 }],
    ['renew', { renew: 1 as never }],
  ])('needs a lease or renewal: INVALID_ARGUMENT names %s', async (argument, options) => {
    await expect(semaphore.acquirePermit(options)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      argument,
    })
  })
})

describe('withPermit', () => {
  it('without options says what to pass', async () => {
    const withoutOptions = (): Promise<unknown> => semaphore.withPermit(() => undefined, undefined as never)
    await expect(withoutOptions()).rejects.toThrow(
      /^options must be \{ leaseMs \} or \{ renew: true \}, as in withPermit\(callback, .+; got undefined\.$/,
    )
  })

  it('releases with the result, and with the error of the callback', async () => {
    const options = { renew: true }
    expect(await semaphore.withPermit(() => semaphore.availablePermits(), options)).toBe(0)
    const error = new Error('mine')
    await expect(semaphore.withPermit(() => Promise.reject(error), options)).rejects.toBe(error)
  })

  it('rejects with the loss, which has the result; an error of the callback wins', async () => {
    const inside = signalled<string>()
    const untilLost = semaphore.withPermit(
      async (permit) => {
        inside.resolve(permit.id)
        await aborted(permit.signal)
        return 'done'
      },
      { leaseMs: 200 },
    )
    const id = await inside.promise
    await expect(untilLost).rejects.toMatchObject({ code: 'LOCK_LOST', result: 'done', owner: id })
    await expect(untilLost).rejects.toThrow(/^Permit of "\w+" was lost: /)
    const error = new Error('mine')
    const failing = semaphore.withPermit(
      async (permit) => {
        await aborted(permit.signal)
        throw error
      },
      { leaseMs: 200 },
    )
    await expect(failing).rejects.toBe(error)
    await eventually(async () => (await semaphore.availablePermits()) === 1)
  })
})
