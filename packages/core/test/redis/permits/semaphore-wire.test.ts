import { describe, expect, it } from '@jest/globals'
import { MessageLog } from '../support/message-log.js'
import { eventually, own, soon, useRig } from '../support/rig.js'

// Redisson sends this for an RSemaphore, from redisson-wire.md 1.10.
const JAVA_ACQUIRE = `
local value = redis.call('get', KEYS[1])
if (value ~= false and tonumber(value) >= tonumber(ARGV[1])) then
  redis.call('decrby', KEYS[1], ARGV[1])
  return 1
end
return 0`
const JAVA_RELEASE = `
local value = redis.call('incrby', KEYS[1], ARGV[1])
redis.call(ARGV[2], KEYS[2], value)`

const rig = useRig()
// No tick: what wakes a waiter here is a message.
const locks = own(() => rig.client({ resyncInterval: 60_000 }))
const log = own(() => MessageLog.open(rig.connection(), rig.admin))

describe.each([
  ['pool', 'redisson_sc:{pool}'],
  ['a{b}c', 'redisson_sc:a{b}c'],
])('the semaphore %s', (name, channel) => {
  it('is a number without a time to live; every permit that comes says how many there are', async () => {
    const semaphore = locks.getSemaphore(name)
    await semaphore.trySetPermits(3)
    expect(await log.take()).toEqual([[channel, '3']])
    expect(await rig.admin.get(name)).toBe('3')
    expect(await rig.admin.pttl(name)).toBe(-1)
    await semaphore.acquire(2)
    expect(await log.take()).toEqual([])
    expect(await rig.admin.get(name)).toBe('1')
    await semaphore.release()
    await semaphore.addPermits(2)
    await semaphore.drainPermits()
    await semaphore.addPermits(-1)
    await semaphore.releaseIfExists(4)
    expect(await log.take()).toEqual([
      [channel, '2'],
      [channel, '4'],
      [channel, '3'],
    ])
    const mine = `holdfast:operations:${name.includes('{') ? name : `{${name}}`}:${locks.clientId}`
    expect(Object.keys(await rig.contents()).sort()).toEqual([mine, name].sort())
    await rig.admin.del(name)
  })

  it('is shared with Java, in both directions', async () => {
    const semaphore = locks.getSemaphore(name)
    const take = (permits: number) => rig.admin.eval(JAVA_ACQUIRE, 1, name, permits)
    expect(await take(1)).toBe(0)
    await semaphore.trySetPermits(2)
    expect(await take(2)).toBe(1)
    expect(await semaphore.tryAcquire()).toBe(false)
    const waiting = semaphore.acquire(2)
    await eventually(() => rig.admin.pubsub('NUMSUB', channel).then((reply) => Number(reply[1]) > 0))
    await rig.admin.eval(JAVA_RELEASE, 2, name, channel, 2, 'PUBLISH')
    await soon(waiting)
    expect(await take(1)).toBe(0)
    await semaphore.release(2)
    expect(await take(2)).toBe(1)
    await rig.admin.del(name)
  })
})

describe('a semaphore whose permits expire', () => {
  const NAME = 'seats'
  const TIMEOUTS = '{seats}:timeout'
  const CHANNEL = 'redisson_sc:{seats}'
  const FOREVER = '922337203685477'
  const semaphore = own(() => locks.getPermitExpirableSemaphore(NAME))

  it('an id is 16 bytes in the sorted set, with its end by the clock of Redis, or none', async () => {
    await semaphore.trySetPermits(2)
    const id = await semaphore.acquire()
    const before = Date.now()
    const short = await semaphore.acquire({ leaseMs: 60_000 })
    const kept = await rig.admin.zrangeBuffer(TIMEOUTS, 0, '-1', 'WITHSCORES')
    expect(kept[0]!.toString('hex')).toBe(short)
    expect(Number(kept[1]!.toString()) - before).toBeGreaterThanOrEqual(59_990)
    expect(Number(kept[1]!.toString()) - Date.now()).toBeLessThanOrEqual(60_000)
    expect(kept[2]!.toString('hex')).toBe(id)
    expect(kept[3]!.toString()).toBe(FOREVER)
    expect(await rig.admin.get(NAME)).toBe('0')
    expect(await log.take()).toEqual([[CHANNEL, '2']])
    await semaphore.release([id, short])
    expect(await log.take()).toEqual([[CHANNEL, '2']])
    expect(await rig.admin.exists(TIMEOUTS)).toBe(0)
    await rig.admin.del(NAME)
  })

  it('what Java holds counts, ends, and wakes ours when Java releases it', async () => {
    const java = Buffer.from('00ff7f80c3280a0d2500000000000001', 'hex')
    await rig.admin.multi().set(NAME, '0').zadd(TIMEOUTS, FOREVER, java).exec()
    expect(await semaphore.acquiredPermits()).toBe(1)
    const waiting = semaphore.acquire()
    await eventually(() => rig.admin.pubsub('NUMSUB', CHANNEL).then((reply) => reply[1] === 1))
    await rig.admin.multi().zrem(TIMEOUTS, java).incrby(NAME, 1).publish(CHANNEL, '1').exec()
    const id = await soon(waiting)
    await rig.admin.zadd(TIMEOUTS, FOREVER, java)
    expect(await semaphore.tryRelease(java.toString('hex'))).toBe(true)
    await semaphore.release(id)
    expect(await rig.admin.getdel(NAME)).toBe('2')
  })
})
