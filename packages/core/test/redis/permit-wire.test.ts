import { beforeEach, describe, expect, it } from '@jest/globals'
import type { FaultProxy } from '@holdfast/faults/harness'
import type { LockClient, PermitExpirableSemaphore } from '../../src/index.js'
import { acquireExpirableScript, releaseExpirableScript } from '../../src/scripts/permit-semaphore.js'
import { MessageLog } from './support/message-log.js'
import { runsOf } from './support/requests.js'
import { eventually, soon, useRig } from './support/rig.js'

const NAME = 'seats'
const TIMEOUTS = '{seats}:timeout'
const CHANNEL = 'redisson_sc:{seats}'
const FOREVER = '922337203685477'
const rig = useRig()
let locks: LockClient
let semaphore: PermitExpirableSemaphore

beforeEach(async () => {
  locks = await rig.client()
  semaphore = locks.getPermitExpirableSemaphore(NAME)
})

const clear = (): Promise<number> => rig.admin.del(NAME, TIMEOUTS)

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
    await clear()
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
    await clear()
  })
})

describe('a client whose connection breaks', () => {
  let proxy: FaultProxy
  let cut: PermitExpirableSemaphore
  beforeEach(async () => {
    proxy = await rig.proxy()
    const client = await rig.client({ commandTimeout: 300 }, rig.connection({}, proxy))
    cut = client.getPermitExpirableSemaphore(NAME)
    await semaphore.trySetPermits(5)
  })

  it('loses the replies of an acquire and of its release: each counts once, late copies nothing (I2)', async () => {
    const isAcquire = runsOf(acquireExpirableScript)
    const isRelease = runsOf(releaseExpirableScript)
    const lost = [proxy.loseReply(isAcquire), proxy.loseReply(isRelease)]
    const copies = [proxy.copyLate(isAcquire, 300), proxy.copyLate(isRelease, 300)]
    const ids = await soon(cut.acquireMany(2))
    expect(await rig.admin.get(NAME)).toBe('3')
    expect(await rig.admin.zcard(TIMEOUTS)).toBe(2)
    await soon(cut.release(ids))
    await soon(Promise.all(copies.map((copy) => copy.happened)))
    expect(lost.map((fault) => fault.count)).toEqual([1, 1])
    expect([await rig.admin.get(NAME), await rig.admin.zcard(TIMEOUTS)]).toEqual(['5', 0])
    await clear()
  })

  it('gives up an acquire that has run: the permit is released, and a copy takes nothing (I8)', async () => {
    const abort = new AbortController()
    const isAcquire = runsOf(acquireExpirableScript)
    const lost = proxy.loseReply(isAcquire)
    const copy = proxy.copyLate(isAcquire, 400)
    const waiting = cut.acquireMany(3, { signal: abort.signal })
    await lost.happened
    expect(await rig.admin.get(NAME)).toBe('2')
    abort.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await eventually(async () => (await rig.admin.get(NAME)) === '5')
    await soon(copy.happened)
    expect([await rig.admin.get(NAME), await rig.admin.zcard(TIMEOUTS)]).toEqual(['5', 0])
    await clear()
  })
})
