import { describe, expect, it } from '@jest/globals'
import { LockClient, LockLostError, type LockEvents } from '../../../src/index.js'
import { carrierOf } from '../support/carrier.js'
import { soon, useRig } from '../support/rig.js'
import { useWarnings } from '../support/warnings.js'

const CODE = 'HOLDFAST_EVICTION'

describe('eviction', () => {
  const redis = useRig({ redis: 'test' })
  const warnings = useWarnings()

  // One setting at a time: before version 7, Redis takes no more.
  const configure = async (policy: string, maxmemory: string): Promise<void> => {
    await redis.server.command('CONFIG', 'SET', 'maxmemory', maxmemory)
    await redis.server.command('CONFIG', 'SET', 'maxmemory-policy', policy)
  }

  /** INFO is asked by the lock client only, so that it can be counted. */
  const quiet = (options: object = {}) => redis.connection({ enableReadyCheck: false, ...options })

  /** The warnings, once Redis has answered everything that this connection asked before. */
  const warned = async (connection: ReturnType<typeof quiet>) => {
    await connection.ping()
    return warnings.delivered(CODE)
  }

  it.each(['volatile-ttl', 'allkeys-lru'])('is warned of under %s, once per client', async (policy) => {
    await configure(policy, '100mb')
    const connection = quiet()
    await redis.client({}, connection)
    const [first, ...more] = await warned(connection)
    expect(first).toMatchObject({ name: 'HoldfastWarning', code: CODE })
    expect(first!.message).toContain(`maxmemory-policy is '${policy}' and its maxmemory 104857600 bytes`)
    expect(first!.message).toContain("Set maxmemory-policy to 'noeviction'")
    expect(more).toEqual([])
    await redis.client({}, connection)
    expect(await warned(connection)).toHaveLength(2)
  })

  it.each([
    ['noeviction', '100mb'],
    ['volatile-ttl', '0'],
  ])('is not warned of under %s with maxmemory %s', async (policy, maxmemory) => {
    await configure(policy, maxmemory)
    const connection = quiet()
    await redis.client({}, connection)
    expect(await warned(connection)).toEqual([])
  })

  it('is not warned of where INFO is forbidden, and the client works', async () => {
    await configure('volatile-ttl', '100mb')
    await redis.server.command('ACL', 'SETUSER', 'limited', 'on', '>secret', '~*', '&*', '+@all', '-info')
    const connection = quiet({ username: 'limited', password: 'secret' })
    const locks = await redis.client({}, connection)
    expect(await locks.getLock('order:42').withLock(() => 'done')).toBe('done')
    expect(await warned(connection)).toEqual([])
    const stats = String(await redis.server.command('INFO', 'commandstats'))
    // One more, that asks which primary this is.
    expect(/^cmdstat_info:.*rejected_calls=(\d+)/m.exec(stats)?.[1]).toBe('2')
  })

  it('is not warned of by a client without the command', async () => {
    await configure('volatile-ttl', '100mb')
    const connection = quiet()
    Object.defineProperty(connection, 'info', { value: undefined })
    const locks = await redis.client({}, connection)
    expect(await locks.getLock('order:42').withLock(() => 'done')).toBe('done')
    expect(await warned(connection)).toEqual([])
  })

  it('is asked about when a given connection becomes ready, and not again after a reconnect', async () => {
    await configure('volatile-ttl', '100mb')
    const connection = quiet({ lazyConnect: true, retryStrategy: () => 20 })
    await using locks = new LockClient(carrierOf(connection))
    expect(connection.status).toBe('wait')
    await redis.server.resetStats()
    await connection.connect()
    expect(await warned(connection)).toHaveLength(1)
    expect(await locks.getLock('order:42').isLocked()).toBe(false)
    const ready = new Promise((resolve) => connection.once('ready', resolve))
    connection.disconnect(true)
    await soon(ready)
    expect(await warned(connection)).toHaveLength(1)
    // Which primary it is, is asked at each connection.
    expect((await redis.server.commandStats()).get('info')).toBe(3)
  })

  it('a client that is closed before the first connection or the answer asks and says no more (I5)', async () => {
    await configure('volatile-ttl', '100mb')
    const [early, late] = [quiet({ lazyConnect: true }), quiet()]
    const listeners = early.listenerCount('ready')
    await new LockClient(carrierOf(early)).close()
    expect(early.listenerCount('ready')).toBe(listeners)
    await redis.server.resetStats()
    await Promise.all([early.connect(), late.ping()])
    await redis.server.pause()
    const unanswered = new LockClient(carrierOf(late), { commandTimeout: 50 })
    await soon(unanswered.close())
    redis.server.resume()
    expect(await warned(early)).toEqual([])
    expect(await warned(late)).toEqual([])
    expect((await redis.server.commandStats()).get('info')).toBe(2)
  })

  it('a lock that is evicted is lost at the next renewal', async () => {
    const locks = await redis.client({ lockWatchdogTimeout: 3_000 })
    const lost = new Promise<LockEvents['lost']>((resolve) => locks.on('lost', resolve))
    const hold = await locks.getLock('order:42').acquire()
    const memory = String(await redis.server.command('INFO', 'memory'))
    const used = Number(/^used_memory:(\d+)/m.exec(memory)?.[1])
    await configure('volatile-ttl', String(used + 2_000_000))
    // The lock is the only key that this policy may delete.
    const fill = async (): Promise<void> => {
      for (let i = 0; i < 1_000; i += 1) {
        await redis.server.command('SET', `other:${i}`, 'x'.repeat(100_000))
      }
    }
    await expect(fill()).rejects.toThrow(/OOM/)
    expect(String(await redis.server.command('INFO', 'stats'))).toContain('evicted_keys:1\r\n')
    expect((await soon(lost)).error).toMatchObject({ lockName: 'order:42', reason: 'gone' })
    expect(hold.signal.reason).toBeInstanceOf(LockLostError)
    await redis.server.command('FLUSHALL')
  })
})
