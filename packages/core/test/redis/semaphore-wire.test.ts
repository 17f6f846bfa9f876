import { describe, expect, it } from '@jest/globals'
import { MessageLog } from './support/message-log.js'
import { eventually, own, soon, useRig } from './support/rig.js'

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
const locks = own(() => rig.client())
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
    await soon(waiting, 900)
    expect(await take(1)).toBe(0)
    await semaphore.release(2)
    expect(await take(2)).toBe(1)
    await rig.admin.del(name)
  })
})
