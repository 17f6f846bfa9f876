import { describe, expect, it } from '@jest/globals'
import { createRequire } from 'node:module'
import { fencedSet } from '../../../src/index.js'
import type { IoredisClient } from '../../../src/redis/ioredis/client.js'
import { soon, useRig } from '../support/rig.js'

// A fork of ioredis, used through the port of ioredis. Its contract is the project iovalkey of `npm run test:clients`.

interface Iovalkey {
  readonly Redis: new (url: string) => IoredisClient
}

const iovalkey = createRequire(import.meta.url)('iovalkey') as Iovalkey
const NAME = 'order:42'
const rig = useRig()

function made(): IoredisClient {
  const client = new iovalkey.Redis(rig.server.url)
  rig.atEnd(() => client.disconnect())
  return client
}

describe('a client of iovalkey', () => {
  it('carries locks: one at a time, a waiter is woken, an error of Redis is read, and the client stays open', async () => {
    const client = made()
    const [one, other] = [await rig.connect(client), await rig.connect(made())]
    const hold = await one.getLock(NAME).acquire()
    expect(await other.getLock(NAME).tryLock()).toBe(false)
    const waiting = other.getLock(NAME).acquire({ waitMs: 20_000 })
    await hold.release()
    await (await soon(waiting)).release()
    await rig.admin.set(NAME, 'text')
    await expect(one.getLock(NAME).tryLock()).rejects.toMatchObject({ code: 'WRONG_TYPE' })
    await rig.admin.del(NAME)
    await one.close()
    expect(client.status).toBe('ready')
  })

  it('carries fencedSet', async () => {
    const written = await fencedSet(made(), { key: NAME, token: '7', value: 'paid' })
    expect(written).toEqual({ accepted: true, highestToken: '7' })
    expect(await rig.admin.hget(NAME, 'value')).toBe('paid')
    await rig.admin.del(NAME)
  })
})
