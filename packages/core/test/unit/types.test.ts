import { describe, expect, it } from '@jest/globals'
import { Cluster, Redis } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import {
  createClient as createClient5,
  createClientPool as createClientPool5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from 'redis5'
import { isLockError, LockClient, LockTimeoutError } from '../../src/index.js'
import type { IoredisScripting } from '../../src/redis/ioredis/client.js'
import type { NodeRedisScripting } from '../../src/redis/node-redis/client.js'
import { SharedError } from '../../src/entries/share/index.js'

// This file only has to compile: both majors fit the structural type without a cast.
describe('the type of a client', () => {
  it('fits ioredis 5 and 6', async () => {
    for (const client of [
      new LockClient(new Redis({ lazyConnect: true })),
      new LockClient(new Redis5({ lazyConnect: true })),
    ]) {
      expect(client.clientId).toMatch(/^[^:{}]+~[\w-]{21}$/)
      await client.close()
    }
  })

  it('fits node-redis 5 and 6, on both protocols', async () => {
    for (const client of [
      new LockClient(createClient()),
      new LockClient(createClient({ RESP: 2 }).withTypeMapping({ 36: Buffer })),
      new LockClient(createClient5()),
      new LockClient(createClient5({ RESP: 3 })),
    ]) {
      expect(client.clientId).toMatch(/^[^:{}]+~[\w-]{21}$/)
      await client.close()
    }
  })

  it('the type of a client of a guard fits everything of node-redis that runs scripts', () => {
    const sentinel = { name: 'primary', sentinelRootNodes: [{ host: 'localhost', port: 26379 }] }
    const all: NodeRedisScripting[] = [
      createCluster({ rootNodes: [{}] }),
      createSentinel(sentinel),
      createClientPool(),
      createCluster5({ rootNodes: [{}] }),
      createSentinel5(sentinel),
      createClientPool5(),
    ]
    for (const each of all) {
      expect(typeof each.evalSha).toBe('function')
    }
  })

  it('the type of a client of a guard fits a Cluster of ioredis too', () => {
    const options = { lazyConnect: true }
    const clusters: (IoredisScripting & { disconnect(): void })[] = [
      new Cluster([{ port: 1 }], options),
      new Cluster5([{ port: 1 }], options),
    ]
    for (const cluster of clusters) {
      expect(typeof cluster.evalsha).toBe('function')
      cluster.disconnect()
    }
  })
})

describe('isLockError', () => {
  const busy = new LockTimeoutError({ lockName: 'a', waitedMs: 7, holder: undefined })
  const failed = new SharedError('b', { name: 'Error', message: 'x', code: undefined })

  it('narrows to the class of a code, and any error of Holdfast by its code', () => {
    /** The fields of the classes, without a cast. */
    const told = (error: unknown): string | number | undefined => {
      if (isLockError(error, 'LOCK_LOST')) return error.reason
      if (!isLockError(error)) return undefined
      return error.code === 'LOCK_TIMEOUT' ? error.waitedMs : error.lockName
    }
    const code: 'SHARE_FAILED' = failed.code
    expect([told(busy), told(failed), told(new Error('x')), code]).toEqual([
      7,
      'b',
      undefined,
      'SHARE_FAILED',
    ])
    // @ts-expect-error no such code
    expect(isLockError(busy, 'LOCK_BUSSY')).toBe(false)
  })

  it('is false for what has the code alone, or none', () => {
    const others = [{ code: 'LOCK_TIMEOUT' }, new Error('x'), null, undefined, 'LOCK_TIMEOUT']
    expect(others.filter((each) => isLockError(each))).toEqual([])
    const codes = [undefined, 'LOCK_TIMEOUT', 'LOCK_LOST'] as const
    expect(codes.map((each) => isLockError(busy, each))).toEqual([true, true, false])
  })
})
