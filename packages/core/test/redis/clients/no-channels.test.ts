import { beforeEach, describe, expect, it } from '@jest/globals'
import type { LockClient, LockClientOptions } from '../../../src/index.js'
import { getElection } from '../../../src/entries/election/index.js'
import { getShare } from '../../../src/entries/share/index.js'
import { handOver } from '../../../src/entries/travel/index.js'
import { scriptsRunBy } from '../support/carrier.js'
import { lockKinds } from '../support/lock-kinds.js'
import { eventually, soon, useRig } from '../support/rig.js'
import { useWarnings } from '../support/warnings.js'

const rig = useRig()
const warnings = useWarnings()
const RESYNC = { resyncInterval: 200 }

beforeEach(async () => {
  // The rules of many users: every key and command, and since Redis 7 no channel.
  await rig.admin.call('ACL', 'SETUSER', 'mute', 'reset', 'on', '>secret', '~*', '+@all', 'resetchannels')
})

const mute = (options: LockClientOptions = {}): Promise<LockClient> =>
  rig.client({ ...RESYNC, ...options }, rig.connection({ username: 'mute', password: 'secret' }))

describe('a user who may not publish', () => {
  describe.each(['who may not either', 'who listens'])('with a waiter %s', (who) => {
    it.each(lockKinds)('releases a $name, which the waiter takes by itself', async (kind) => {
      const locks = await mute()
      const others = who === 'who listens' ? await rig.client(RESYNC) : await mute()
      const hold = await kind.rivalOf(locks, 'x').acquire()
      const waiting = kind.of(others, 'x').acquire({ waitMs: 10_000 })
      waiting.catch(() => undefined)
      const waitsUnseen = kind.saidByRelease('x').length > 0 && who !== 'who listens'
      await eventually(async () => waitsUnseen || (await kind.waiting(rig.admin, 'x')) > 0)
      expect(await hold.release()).toBe('released')
      const next = await soon(waiting)
      expect(await next.release()).toBe('released')
    })
  })

  it.each(['getLock', 'getFairLock'] as const)(
    'grants no lock of %s to a waiter that would not hear of it',
    async (get) => {
      const abort = new AbortController()
      const holder = await mute()
      const connection = rig.connection()
      const sent = scriptsRunBy(connection)
      const others = await rig.client({ resyncInterval: 30_000 }, connection)
      const hold = await holder[get]('x').acquire()
      const before = sent().length
      const waiting = others[get]('x').acquire({ signal: abort.signal })
      const ended = expect(waiting).rejects.toThrow()
      await eventually(
        async () => (await rig.admin.exists('holdfast:line:{x}', 'redisson_lock_queue:{x}')) > 0,
      )
      // A plain waiter tries once more when it has subscribed. Then behind the answer to that.
      await eventually(() => sent().length >= before + (get === 'getLock' ? 2 : 1))
      await others[get]('x').isLocked()
      expect(await hold.release()).toBe('released')
      expect(await rig.admin.exists('x')).toBe(0)
      abort.abort()
      await ended
    },
  )

  it.each([
    ['channels', 'resetchannels'],
    ['PUBLISH', '-publish'],
  ])('is told once by connect() that it may not use %s', async (_what, rule) => {
    await rig.admin.call('ACL', 'SETUSER', 'mute', '&*', rule)
    const locks = await mute()
    await locks.getFairLock('x').withLock(() => undefined)
    expect(await warnings.delivered('HOLDFAST_NO_CHANNELS')).toHaveLength(1)
  })

  it('changes semaphores and latches once, and is told what was changed', async () => {
    const locks = await mute()
    const semaphore = locks.getSemaphore('s')
    expect(await semaphore.trySetPermits(2)).toBe(true)
    await semaphore.release(1)
    await semaphore.addPermits(2)
    expect(await semaphore.availablePermits()).toBe(5)

    const permits = locks.getPermitExpirableSemaphore('p')
    expect(await permits.trySetPermits(1)).toBe(true)
    const permit = await permits.acquire()
    await permits.release(permit)
    await permits.setPermits(3)
    expect(await permits.availablePermits()).toBe(3)

    const latch = locks.getCountDownLatch('l')
    expect(await latch.trySetCount(2)).toBe(true)
    await latch.countDown()
    await latch.countDown()
    expect(await latch.getCount()).toBe(0)
    expect(await latch.trySetCount(1)).toBe(true)
    expect(await latch.delete()).toBe(true)
    await rig.admin.del('s', 'p', '{p}:timeout')
  })

  it('releases by force, hands over, leads, and shares', async () => {
    const locks = await mute()
    for (const lock of [
      locks.getLock('x'),
      locks.getFairLock('y'),
      locks.getReadWriteLock('z').writeLock(),
    ]) {
      const hold = await lock.acquire()
      expect(await lock.forceUnlock()).toBe(true)
      expect(await rig.admin.exists(lock.name)).toBe(0)
      await hold.release().catch(() => undefined)
    }
    expect(await handOver(await locks.getLock('h').acquire(), { keepMs: 60_000 })).toBeDefined()
    await locks.getLock('h').forceUnlock()

    const end = new AbortController()
    const led = new Promise<void>((resolve) => {
      const callback = async (): Promise<void> => {
        resolve()
        await new Promise((ended) => end.signal.addEventListener('abort', ended))
      }
      void getElection(locks, 'e')
        .lead(callback, { signal: end.signal })
        .catch(() => undefined)
    })
    await soon(led)
    const changes = getElection(await mute(), 'e').changes()
    expect((await soon(changes.next())).value).toMatchObject({ token: '1' })
    end.abort()
    expect((await soon(changes.next())).value).toBeNull()
    await changes.return(undefined)
    expect(await soon(getShare(locks, 'run').run('k', () => Promise.resolve('done')))).toBe('done')
    await eventually(async () => (await rig.admin.exists('election:e', 'share:run:k')) === 0)
  })
})
