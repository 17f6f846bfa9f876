import { describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { LockClient } from '../../src/index.js'

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
})
