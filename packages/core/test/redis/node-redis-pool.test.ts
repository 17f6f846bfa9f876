import { describe, expect, it } from '@jest/globals'
import { createClientPool } from 'redis'
import { LockClient } from '../../src/index.js'
import { acquireScript } from '../../src/scripts/lock.js'
import { outcomeOf, waitBehind } from './support/behind.js'
import { runsOf } from './support/requests.js'
import { eventually, soon, useRig } from './support/rig.js'

const NAME = 'order:42'
const POOLED = 2
const rig = useRig()
// node-redis 5 has none.
const PREFIX_SINCE_6 = { keyPrefix: 'app:' }

function made(at: { port: number } = rig.server, options: object = {}) {
  const pool = createClientPool(
    { name: rig.connectionName, ...options, socket: { port: at.port, reconnectStrategy: 20 } },
    { minimum: POOLED, maximum: POOLED, acquireTimeout: 200 },
  )
  pool.on('error', () => undefined)
  rig.atEnd(() => (pool.isOpen ? pool.destroy() : undefined))
  return pool
}

describe('a pool of node-redis', () => {
  it('is opened, lends its options to two connections, and is left as it was (I5)', async () => {
    const pool = made()
    const locks = await rig.connect(pool)
    expect(await locks.getLock(NAME).withLock(() => rig.admin.hlen(NAME))).toBe(1)
    expect(await rig.connections()).toBe(POOLED + 2)
    expect([pool.clientsInUse, pool.listenerCount('error')]).toEqual([0, 1])
    await locks.close()
    await eventually(async () => (await rig.connections()) === POOLED)
    expect(await pool.get(NAME)).toBeNull()
  })

  it('a pool of node-redis whose clients are all in use delays no lock (I7)', async () => {
    const pool = made()
    const [locks, other] = [await rig.connect(pool), await rig.client()]
    const blocked = Array.from({ length: POOLED }, () => pool.execute((client) => client.blPop('nothing', 0)))
    const hold = await other.getLock(NAME).acquire()
    const { waiting } = await waitBehind(rig, NAME, () => locks.getLock(NAME).acquire())
    await hold.release()
    expect(await (await soon(waiting)).release()).toBe('released')
    await rig.admin.rpush('nothing', ...blocked.map(String))
    await Promise.all(blocked)
  })

  it('a pool of node-redis that nobody has opened is waited for, with an error that says what to call', async () => {
    const pool = made()
    const locks = rig.connectNow(pool, { commandTimeout: 100, unavailableTimeoutMs: 200 })
    await expect(locks.getLock(NAME).tryLock()).rejects.toThrow(
      'No connection to Redis within 100 ms. The node-redis client was never opened: call its connect().',
    )
    const waiting = locks.getLock(NAME).acquire({ waitMs: 5_000 })
    await pool.connect()
    expect(await (await soon(waiting)).release()).toBe('released')
  })

  it('a pool of node-redis that its user has closed ends: every call says so at once', async () => {
    const pool = made()
    const locks = await rig.connect(pool)
    await pool.close()
    expect(await outcomeOf(locks.getLock(NAME).tryLock())).toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      message: expect.stringMatching(/^The Redis connection has ended\. /),
      outcome: 'not-sent',
      transient: false,
    })
  })

  it('a command under way when the connection breaks is sent again (I2)', async () => {
    const proxy = await rig.proxy()
    const locks = await rig.connect(made(proxy))
    const lost = proxy.loseReply(runsOf(acquireScript))
    const hold = await soon(locks.getLock(NAME).tryAcquire())
    expect(lost.count).toBe(1)
    expect(await rig.admin.hgetall(NAME)).toEqual({ [hold!.owner]: '1' })
    expect(await hold!.release()).toBe('released')
  })

  it('messages are heard again after every connection was cut (I4)', async () => {
    const proxy = await rig.proxy()
    const [locks, other] = [await rig.connect(made(proxy), { resyncInterval: 60_000 }), await rig.client()]
    const hold = await other.getLock(NAME).acquire()
    const { waiting } = await waitBehind(rig, NAME, () => locks.getLock(NAME).acquire())
    proxy.cutAll()
    await rig.heard(NAME)
    await hold.release()
    expect(await (await soon(waiting)).release()).toBe('released')
  })

  it('its keyPrefix goes before the name of a lock, in node-redis 6', async () => {
    const pool = made(rig.server, PREFIX_SINCE_6)
    const hasPrefix = '_keyPrefix' in pool
    const hold = await (await rig.connect(pool)).getLock(NAME).acquire()
    expect(await rig.admin.exists(hasPrefix ? `app:${NAME}` : NAME)).toBe(1)
    await hold.release()
  })

  it('wrong credentials are told by connect at once', async () => {
    const connecting = LockClient.connect(made(rig.server, { username: 'app', password: 'wrong' }))
    await expect(connecting).rejects.toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      message: expect.stringContaining('WRONGPASS'),
    })
  })
})
