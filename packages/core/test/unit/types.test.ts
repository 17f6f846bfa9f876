import { describe, expect, it } from '@jest/globals'
import { Cluster, Redis } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { LockClient, type IoredisScripting } from '../../src/index.js'

// What this file shows is that it compiles: both majors fit the structural type without a cast.
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

  it('of a guard fits a Cluster of both too', () => {
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
