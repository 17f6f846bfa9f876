import { expect } from '@jest/globals'
import { InvalidArgumentError, LockLostError, type Lock, type LockClient } from '../../../src/index.js'
import { adopt, handOver, HandoverGoneError, revoke } from '../../../src/entries/travel/index.js'
import { soon } from '../support/rig.js'
import { describe, it, own, useRig } from '../support/together.js'

const NAME = 'order:42'
const LONG_MS = 20_000
const rig = useRig()
const one = own(() => rig.client())
const other = own(() => rig.client())

const kinds: [string, (locks: LockClient) => Lock][] = [
  ['plain', (locks) => locks.getLock(NAME)],
  ['fair', (locks) => locks.getFairLock(NAME)],
  ['fenced', (locks) => locks.getFencedLock(NAME)],
]

const holders = async (): Promise<string[]> => Object.keys(await rig.admin.hgetall(NAME))
const travelling = [expect.stringMatching(/^handover~[\da-f]{32}:1$/)]

describe.each(kinds)('a hold that travels: %s', (kind, lockOf) => {
  it('goes to whoever brings the token, and nobody has it in between', async () => {
    const hold = await lockOf(one).acquire()
    const token = await handOver(hold, { keepMs: LONG_MS })
    expect(await holders()).toEqual(travelling)
    expect(hold.signal.aborted).toBe(true)
    expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'handed-over' })
    expect(hold.trustedForMs).toBe(0)
    expect(await hold.release()).toBe('already-released')
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(LONG_MS)
    expect(await lockOf(other).tryAcquire()).toBeNull()
    expect(await lockOf(one).tryAcquire()).toBeNull()
    const adopted = await adopt(other, token)
    expect(await holders()).toEqual([adopted.owner])
    await adopted.verify()
    expect(adopted.trustedForMs).toBeGreaterThan(LONG_MS)
    expect(await rig.admin.pttl(NAME)).toBeGreaterThan(LONG_MS)
    expect(await adopted.release()).toBe('released')
    expect(await lockOf(one).isLocked()).toBe(false)
  })

  it('is adopted once: a second delivery hears who has it', async () => {
    const token = await handOver(await lockOf(one).acquire())
    const adopted = await adopt(other, token)
    const again = adopt(one, token)
    await expect(again).rejects.toThrow(HandoverGoneError)
    await expect(again).rejects.toMatchObject({
      code: 'HANDOVER_GONE',
      lockName: NAME,
      holder: { owner: adopted.owner },
    })
    expect(await revoke(one, token)).toBe(false)
    await adopted.verify()
    await adopted.release()
    await expect(adopt(one, token)).rejects.toMatchObject({ code: 'HANDOVER_GONE', holder: undefined })
  })

  it('wakes a waiter of any client when its adopter releases it', async () => {
    const token = await handOver(await lockOf(one).acquire())
    const waiters = [one, other].map((locks) => lockOf(locks).acquire({ waitMs: LONG_MS }))
    const adopted = await adopt(other, token)
    await adopted.release()
    for (const first of await Promise.all(waiters.map((each) => each.then(async (hold) => hold.release())))) {
      expect(first).toBe('released')
    }
  })

  it('is released by revoke, once, and wakes a waiter', async () => {
    const token = await handOver(await lockOf(one).acquire())
    const waiter = lockOf(other).acquire({ waitMs: LONG_MS })
    expect(await revoke(other, token)).toBe(true)
    expect(await revoke(other, token)).toBe(false)
    await expect(adopt(other, token)).rejects.toThrow(HandoverGoneError)
    expect(await (await soon(waiter)).release()).toBe('released')
  })

  it('is free when nobody adopts it within keepMs', async () => {
    const token = await handOver(await lockOf(one).acquire(), { keepMs: 300 })
    const next = await soon(lockOf(other).acquire())
    await expect(adopt(one, token)).rejects.toThrow(HandoverGoneError)
    await next.release()
  })

  it('is named by those who are refused, by inspect and by inspectAll, without the right to it', async () => {
    const token = await handOver(await lockOf(one).acquire())
    const secret = (await holders())[0]!
    const wait = lockOf(await rig.slow()).acquire({ waitMs: 1 })
    await expect(wait).rejects.toThrow(/: handed over, not yet adopted, .* of lease left[.;]/)
    await expect(wait).rejects.toMatchObject({ holder: { handedOver: true } })
    const [seen, all] = [await lockOf(other).inspect(), (await other.inspectAll()).locks]
    expect(seen?.holders).toMatchObject([{ handedOver: true }])
    expect(all).toMatchObject([{ name: NAME, holders: [{ handedOver: true }] }])
    const error: unknown = await wait.catch((thrown: unknown) => thrown)
    expect(JSON.stringify([error, seen, all])).not.toContain(secret.slice(0, 30))
    await revoke(one, token)
  })

  it('is freed by forceUnlock, and its token is gone', async () => {
    const token = await handOver(await lockOf(one).acquire())
    expect(await lockOf(other).forceUnlock()).toBe(true)
    await expect(adopt(other, token)).rejects.toThrow(HandoverGoneError)
    expect(await lockOf(one).isLocked()).toBe(false)
  })

  it('leaves a context and enters another: it is re-entered there', async () => {
    const token = await one.run(async () => {
      const given = await handOver(await lockOf(one).acquire())
      expect(await lockOf(one).isHeldByCurrentContext()).toBe(false)
      expect(await lockOf(one).tryAcquire()).toBeNull()
      return given
    })
    await other.run(async () => {
      await adopt(other, token)
      expect(await lockOf(other).isHeldByCurrentContext()).toBe(true)
      await lockOf(other).withLock((inner) => expect(inner.count).toBe(2))
      await lockOf(other).unlock()
    })
    expect(await lockOf(one).isLocked()).toBe(false)
  })

  it('may leave the callback of withLock, which returns its result', async () => {
    const token = await lockOf(one).withLock((hold) => handOver(hold))
    const adopted = await adopt(other, token, { leaseMs: LONG_MS })
    expect(adopted.trustedForMs).toBeLessThan(LONG_MS)
    expect(await rig.admin.pttl(NAME)).toBeLessThanOrEqual(LONG_MS)
    await adopted.release()
  })

  it('is handed over again by its adopter', async () => {
    const first = await handOver(await lockOf(one).acquire())
    const second = await handOver(await adopt(other, first))
    await expect(adopt(one, first)).rejects.toMatchObject({ holder: { handedOver: true } })
    await (await adopt(one, second)).release()
  })

  it('stays with its holder while further levels are held', async () => {
    await one.run(async () => {
      const outer = await lockOf(one).acquire()
      const inner = await lockOf(one).acquire()
      await expect(handOver(inner)).rejects.toThrow(/only level of its owner.*one of 2 levels/)
      expect(outer.signal.aborted).toBe(false)
      await inner.release()
      // The count in Redis may still be that of two levels.
      await (await adopt(other, await handOver(outer))).release()
    })
    expect(await lockOf(one).isLocked()).toBe(false)
  })

  it('is not handed over by who has lost or released it', async () => {
    one.on('lost', () => undefined)
    const released = await lockOf(one).acquire()
    await released.release()
    await expect(handOver(released)).rejects.toMatchObject({ code: 'NOT_LOCK_OWNER' })
    const lost = await lockOf(one).acquire()
    await rig.admin.del(NAME)
    await expect(handOver(lost)).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'gone' })
    await expect(handOver(lost)).rejects.toMatchObject({ code: 'NOT_LOCK_OWNER' })
    const overwritten = await lockOf(one).acquire()
    await rig.admin.set(NAME, 'of somebody else')
    await expect(handOver(overwritten)).rejects.toThrow(LockLostError)
    await rig.admin.del(NAME)
  })

  it('outlives the client that handed it over, also one that closes meanwhile', async () => {
    const hold = await lockOf(one).acquire()
    const given = handOver(hold)
    await one.close({ graceMs: 0 })
    const adopted = await adopt(other, await given)
    await adopted.release()
    const token = await handOver(await lockOf(other).acquire())
    await expect(adopt(one, token)).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
    await revoke(other, token)
  })

  it(`has a note of its new holder's`, async () => {
    const [from, to] = [await rig.client({ describeHolds: true }), await rig.client({ describeHolds: true })]
    const token = await handOver(await lockOf(from).acquire())
    expect((await rig.keysLeft()).filter((key) => key.includes('note'))).toEqual([])
    const adopted = await adopt(to, token)
    const [holder] = (await lockOf(one).inspect())!.holders
    expect(holder).toMatchObject({ owner: adopted.owner })
    expect(holder?.heldForMs).toBeGreaterThanOrEqual(0)
    await adopted.release()
    expect(kind === 'fenced' ? [] : await rig.keysLeft()).toEqual([])
  })
})

describe('a fenced hold that travels', () => {
  it.each(['counter', 'time'] as const)(
    'gets a larger token from its adopter: by %s (I9)',
    async (tokens) => {
      const options = { tokens, tokenTtlMs: 60_000 }
      const hold = await one.getFencedLock(NAME, options).acquire()
      const adopted = await adopt(other, await handOver(hold))
      expect(BigInt(adopted.token!)).toBeGreaterThan(BigInt(hold.token))
      await adopted.release()
      const next = await one.getFencedLock(NAME, options).acquire()
      expect(BigInt(next.token)).toBeGreaterThan(BigInt(adopted.token!))
      expect(await rig.admin.pttl(`redisson_lock_token:{${NAME}}`)).toBeGreaterThan(0)
      await next.release()
    },
  )

  it('is not adopted where its counter is of another type, and its token stays good', async () => {
    const token = await handOver(await one.getFencedLock(NAME).acquire())
    await rig.admin.set(`redisson_lock_token:{${NAME}}`, 'no number')
    await expect(adopt(one, token)).rejects.toThrow(/redisson_lock_token/)
    expect(await holders()).toEqual(travelling)
    await rig.admin.del(`redisson_lock_token:{${NAME}}`)
    await (await adopt(one, token)).release()
  })
})

describe('a lock that travels, and its waiters', () => {
  it('keeps the order of a fair queue, also after it was passed on in memory', async () => {
    const lock = one.getFairLock(NAME)
    const first = await other.getFairLock(NAME).acquire()
    const order: string[] = []
    const passedOn = [1, 2].map((n) =>
      lock.acquire({ waitMs: LONG_MS }).then((hold) => {
        order.push(`one ${n}`)
        return hold
      }),
    )
    await lineOf(2)
    const last = other
      .getFairLock(NAME)
      .acquire({ waitMs: LONG_MS })
      .then(async (hold) => {
        order.push('other')
        return hold.release()
      })
    await lineOf(3)
    await first.release()
    await (await soon(passedOn[0]!)).release()
    // Its field may still have the name of the one before.
    const token = await handOver(await soon(passedOn[1]!))
    expect(await rig.admin.llen(`redisson_lock_queue:{${NAME}}`)).toBe(1)
    expect(await holders()).toEqual(travelling)
    await (await adopt(one, token)).release()
    expect(await soon(last)).toBe('released')
    expect(order).toEqual(['one 1', 'one 2', 'other'])
  })

  it('goes on after a hold that was passed on in memory', async () => {
    const lock = one.getLock(NAME)
    const first = await lock.acquire()
    const next = lock.acquire()
    const released = first.release()
    const token = await handOver(await next)
    await released
    expect(await holders()).toEqual(travelling)
    await (await adopt(one, token)).release()
  })

  const lineOf = async (waiters: number): Promise<void> => {
    while ((await rig.admin.llen(`redisson_lock_queue:{${NAME}}`)) < waiters) await Promise.resolve()
  }
})

describe('what cannot travel', () => {
  it('is a hold of another kind of lock, and something that is none', async () => {
    for (const lock of [
      one.getSpinLock(NAME),
      one.getReadWriteLock(NAME).readLock(),
      one.getReadWriteLock(NAME).writeLock(),
      one.getNonReentrantLock(NAME),
      one.getMultiLock(one.getLock(NAME), one.getLock('other')),
    ]) {
      await lock.withLock(async (hold) => {
        await expect(handOver(hold)).rejects.toThrow(
          /^hold must be a hold of a plain, a fair or a fenced lock/,
        )
        expect(hold.signal.aborted).toBe(false)
      })
    }
    await expect(handOver(null as never)).rejects.toThrow(InvalidArgumentError)
    await one.getLock(NAME).withLock(async (hold) => {
      await expect(handOver(hold, { keepMs: 0 })).rejects.toThrow(/^keepMs/)
      await expect(handOver(hold, { keepMs: 2 ** 31 })).rejects.toThrow(/24 days/)
      await expect(handOver(hold, { keepms: 1 } as never)).rejects.toThrow(/keepMs/)
      expect(hold.signal.aborted).toBe(false)
    })
  })

  it.each([undefined, '', 'token', 42, Buffer.from('{"v":2}').toString('base64url')])(
    'is the token %p',
    async (token) => {
      await expect(adopt(one, token as never)).rejects.toThrow(/^token must be the text that handOver/)
      await expect(revoke(one, token as never)).rejects.toThrow(/^token must be/)
    },
  )

  it('is a token of another keyPrefix; one of the same finds its lock', async () => {
    const [one, other, plain] = [
      await rig.client({}, rig.connection({ keyPrefix: 'a:' })),
      await rig.client({}, rig.connection({ keyPrefix: 'a:' })),
      await rig.client(),
    ]
    const token = await handOver(await one.getLock(NAME).acquire())
    await expect(adopt(plain, token)).rejects.toThrow(/keyPrefix of this one, which is ""/)
    await (await adopt(other, token)).release()
  })
})
