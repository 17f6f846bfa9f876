import { beforeEach, describe, expect, it } from '@jest/globals'
import { MessageLog } from './support/message-log.js'
import { eventually, own, soon, useRig } from './support/rig.js'

const NAME = 'seats'
const TIMEOUTS = '{seats}:timeout'
const CHANNEL = 'redisson_sc:{seats}'
const FOREVER = '922337203685477'
const rig = useRig()
beforeEach(() => rig.atEnd(() => rig.admin.del(NAME, TIMEOUTS)))
const semaphore = own(async () => (await rig.client()).getPermitExpirableSemaphore(NAME))

describe('on the wire', () => {
  it('an id is 16 bytes in the sorted set, with its end by the clock of Redis, or none', async () => {
    const log = await MessageLog.open(rig.connection(), rig.admin)
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
  })

  it('what Java holds counts, ends, and wakes ours when Java releases it', async () => {
    const java = Buffer.from('00ff7f80c3280a0d2500000000000001', 'hex')
    await rig.admin.multi().set(NAME, '0').zadd(TIMEOUTS, FOREVER, java).exec()
    expect(await semaphore.acquiredPermits()).toBe(1)
    const waiting = semaphore.acquire()
    await eventually(() => rig.admin.pubsub('NUMSUB', CHANNEL).then((reply) => reply[1] === 1))
    await rig.admin.multi().zrem(TIMEOUTS, java).incrby(NAME, 1).publish(CHANNEL, '1').exec()
    const id = await soon(waiting, 900)
    await rig.admin.zadd(TIMEOUTS, FOREVER, java)
    expect(await semaphore.tryRelease(java.toString('hex'))).toBe(true)
    await semaphore.release(id)
    expect(await rig.admin.get(NAME)).toBe('2')
  })
})
