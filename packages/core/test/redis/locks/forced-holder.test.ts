import { expect } from '@jest/globals'
import { HolderChangedError, InvalidArgumentError, type LockClient } from '../../../src/index.js'
import { handOver } from '../../../src/entries/travel/index.js'
import { failureOf, lostAt } from '../support/outcomes.js'
import { eventually } from '../support/rig.js'
import { lockKinds } from '../support/lock-kinds.js'
import { describe, it, own, useRig } from '../support/together.js'

const NOBODY = 'nobody~aaaaaaaaaaaaaaaaaaaaa:1'

const rig = useRig({ redis: 'all' })
const one = own(async () => {
  const client = await rig.client()
  client.on('lost', () => undefined)
  return client
})
const other = own(() => rig.client())

/** The name that a person copies from where it is shown. */
const shownBy = async (locks: LockClient, name: string): Promise<string[]> => {
  const seen = await locks.getLock(name).inspect()
  return (seen?.holders ?? []).map(({ owner }) => owner)
}

const ofOneLock = lockKinds.filter(({ locks }) => locks === 1)

describe.each(ofOneLock)('forceUnlock({ holder }): $name', (kind) => {
  it('takes the lock from the holder that was shown, and tells it', async () => {
    const hold = await kind.of(one, rig.name()).acquire()
    const told = lostAt(hold)
    const [holder] = await shownBy(other, rig.name())
    expect(await kind.of(other, rig.name()).forceUnlock({ holder })).toBe(true)
    await told
    expect(hold.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'forced' })
    expect(await kind.holds(rig.admin, rig.name())).toEqual({})
    expect(await kind.of(other, rig.name()).forceUnlock({ holder })).toBe(false)
  })

  it('leaves the lock to a holder that came in since, and names it (I1)', async () => {
    const lock = kind.of(one, rig.name())
    const first = await lock.acquire()
    const [holder = ''] = await shownBy(other, rig.name())
    await first.release()
    const second = await lock.acquire()
    const refused = await failureOf(kind.of(other, rig.name()).forceUnlock({ holder }))
    expect(refused).toBeInstanceOf(HolderChangedError)
    const now = await shownBy(other, rig.name())
    expect(refused).toMatchObject({ code: 'HOLDER_CHANGED', owner: holder, holder: { owner: now[0] } })
    expect(second.signal.aborted).toBe(false)
    await second.verify()
    expect(await second.release()).toBe('released')
  })

  it('forceUnlock in the holder’s own client loses the named hold before the call returns, and no other', async () => {
    const lock = kind.of(one, rig.name())
    const hold = await lock.acquire()
    const [holder] = await shownBy(one, rig.name())
    await expect(lock.forceUnlock({ holder: NOBODY })).rejects.toThrow(HolderChangedError)
    expect(hold.signal.aborted).toBe(false)
    await hold.verify()
    expect(await lock.forceUnlock({ holder })).toBe(true)
    expect(hold.signal.aborted).toBe(true)
  })

  it('lets a waiter in', async () => {
    const third = await rig.client()
    await kind.of(one, rig.name()).acquire()
    const waiting = kind.rivalOf(other, rig.name()).acquire()
    await eventually(async () => (await kind.waiting(rig.admin, rig.name())) > 0)
    const [holder] = await shownBy(third, rig.name())
    expect(await kind.of(third, rig.name()).forceUnlock({ holder })).toBe(true)
    expect(await (await waiting).release()).toBe('released')
  })
})

describe('forceUnlock({ holder })', () => {
  it('forceUnlock({ holder }) of one reader ends its hold alone, and the lock lasts as long as those of the others', async () => {
    const lock = one.getReadWriteLock(rig.name())
    const long = await lock.readLock().acquire({ leaseMs: 60_000 })
    const short = await lock.readLock().acquire({ leaseMs: 20_000 })
    const theirs = other.getReadWriteLock(rig.name())
    expect(await theirs.readLock().forceUnlock({ holder: long.owner })).toBe(true)
    await eventually(() => long.signal.aborted)
    expect(short.signal.aborted).toBe(false)
    await short.verify()
    expect(await theirs.readLock().remainTimeToLive()).toBeLessThanOrEqual(20_000)
    expect(await theirs.writeLock().tryLock()).toBe(false)
    expect(await theirs.readLock().forceUnlock({ holder: short.owner })).toBe(true)
    expect(await theirs.writeLock().tryLock()).toBe(true)
    await theirs.writeLock().unlock()
  })

  it('forceUnlock({ holder }) of a writer that also reads takes the write lock, and it reads on', async () => {
    const theirs = other.getReadWriteLock(rig.name())
    await one.run(async () => {
      const lock = one.getReadWriteLock(rig.name())
      const write = await lock.writeLock().acquire()
      const read = await lock.readLock().acquire()
      await expect(theirs.writeLock().forceUnlock({ holder: read.owner })).rejects.toThrow(HolderChangedError)
      expect(await theirs.writeLock().forceUnlock({ holder: write.owner })).toBe(true)
      await eventually(() => write.signal.aborted)
      expect(read.signal.aborted).toBe(false)
      await read.verify()
      expect(await theirs.readLock().tryLock()).toBe(true)
      await theirs.readLock().unlock()
      expect(await read.release()).toBe('released')
    })
  })

  it('forceUnlock({ holder }) of a multi lock takes the member that this owner has, and the whole is lost with it', async () => {
    const multi = (locks: LockClient) =>
      locks.getMultiLock(locks.getLock(rig.name()), locks.getLock(rig.name('second')))
    const hold = await multi(one).acquire()
    await expect(multi(other).forceUnlock({ holder: NOBODY })).rejects.toThrow(HolderChangedError)
    expect(hold.signal.aborted).toBe(false)
    expect(await multi(other).forceUnlock({ holder: hold.owner })).toBe(true)
    await eventually(() => hold.signal.aborted)
    expect(await other.getLock(rig.name()).isLocked()).toBe(false)
    await hold.release().catch(() => undefined)
    await multi(other).forceUnlock()
  })

  it('takes a hold that was handed over, as it was shown, and leaves any other', async () => {
    const lock = one.getLock(rig.name())
    await handOver(await lock.acquire())
    const [holder = ''] = await shownBy(other, rig.name())
    expect(holder).toMatch(/^handover~[\da-f]{8}…$/)
    const wrong = holder.replace(/.…$/, (end) => (end.startsWith('0') ? '1…' : '0…'))
    const refused = await failureOf(lock.forceUnlock({ holder: wrong }))
    expect(refused).toMatchObject({ code: 'HOLDER_CHANGED', holder: { owner: holder, handedOver: true } })
    const [secret = ''] = Object.keys(await rig.admin.hgetall(rig.name()))
    expect(JSON.stringify(refused) + String(refused)).not.toContain(secret.slice(0, 30))
    expect(await lock.forceUnlock({ holder })).toBe(true)
  })

  it('by an object of another kind touches nothing of a lock that several own', async () => {
    const read = await one.getReadWriteLock(rig.name()).readLock().acquire()
    for (const lock of [one.getLock(rig.name()), one.getFairLock(rig.name())]) {
      await expect(lock.forceUnlock({ holder: read.owner })).rejects.toThrow(HolderChangedError)
    }
    await read.verify()
    await read.release()
  })

  it.each<[unknown]>([[''], [42], [null]])('%p is no holder', async (holder) => {
    const lock = (await rig.client()).getLock(rig.name())
    await expect(lock.forceUnlock({ holder } as object)).rejects.toThrow(InvalidArgumentError)
  })
})
