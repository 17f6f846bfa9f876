import { expect } from '@jest/globals'
import { WrongTypeError } from '../../../src/index.js'
import { getCounterScript } from '../../../src/scripts/counter.js'
import { countDownScript } from '../../../src/scripts/latch.js'
import { scriptsRunBy } from '../support/carrier.js'
import { MessageLog } from '../support/message-log.js'
import { runsOf } from '../support/requests.js'
import { eventually, soon } from '../support/rig.js'
import { describe, it, own, useRig } from '../support/together.js'

const NAME = 'ready'
const CHANNEL = `redisson_countdownlatch__channel__{${NAME}}`
const rig = useRig()
const locks = own(() => rig.client())
const latch = own(() => locks.getCountDownLatch(NAME))

const isParked = (): Promise<boolean> =>
  rig.admin.pubsub('NUMSUB', CHANNEL).then((reply) => Number(reply[1]) > 0)

describe("Redisson's own cases", () => {
  it('testTrySetCount, testCount, testCountDown: once; extra counts stay at 0', async () => {
    expect(await latch.getCount()).toBe(0)
    expect(await latch.trySetCount(2)).toBe(true)
    expect(await latch.trySetCount(4)).toBe(false)
    await latch.countDown()
    expect(await latch.getCount()).toBe(1)
    await latch.countDown()
    await latch.countDown()
    expect(await latch.getCount()).toBe(0)
    expect(await soon(latch.await())).toBe(true)
    expect(await rig.admin.exists(NAME)).toBe(0)
  })

  it('testAwaitTimeout, testAwaitTimeoutFail: true in time, false when the time is over', async () => {
    await latch.trySetCount(1)
    expect(await (await rig.slow()).getCountDownLatch(NAME).await(1)).toBe(false)
    expect(await latch.await(0)).toBe(false)
    const waiting = latch.await({ waitMs: 5_000 })
    await eventually(isParked)
    await latch.countDown()
    expect(await soon(waiting)).toBe(true)
  })

  it('testDelete, testDeleteFailed: what waits passes', async () => {
    expect(await latch.delete()).toBe(false)
    await latch.trySetCount(3)
    const waiting = (await rig.client({ resyncInterval: 60_000 })).getCountDownLatch(NAME).await()
    await eventually(isParked)
    expect(await latch.delete()).toBe(true)
    expect(await soon(waiting)).toBe(true)
  })

  it('testMultiAwait, #5349: 1,000 that wait in one client all pass, for one question when it opens', async () => {
    const connection = rig.connection()
    const client = await rig.client({ resyncInterval: 60_000 }, connection)
    const other = client.getCountDownLatch(NAME)
    await latch.trySetCount(1)
    const waiting = Promise.all(Array.from({ length: 1_000 }, () => other.await()))
    await eventually(isParked)
    const sent = scriptsRunBy(connection)
    await latch.countDown()
    expect(new Set(await soon(waiting))).toEqual(new Set([true]))
    const questions = sent().filter((sha) => sha === getCounterScript.sha1)
    expect(questions.length).toBeLessThanOrEqual(3)
  })
})

describe('on the wire', () => {
  it('is a number, and says 1 when it is set or deleted, 0 when it opens', async () => {
    const log = await MessageLog.open(rig.connection(), rig.admin)
    await latch.trySetCount(2)
    expect(await rig.admin.get(NAME)).toBe('2')
    expect(await rig.admin.pttl(NAME)).toBe(-1)
    expect(await log.take()).toEqual([[CHANNEL, '1']])
    await latch.countDown()
    expect(await log.take()).toEqual([])
    await latch.countDown()
    expect(await log.take()).toEqual([[CHANNEL, '0']])
    await latch.countDown()
    expect(await log.take()).toEqual([])
    await latch.trySetCount(1)
    await latch.delete()
    expect(await log.take()).toEqual([
      [CHANNEL, '1'],
      [CHANNEL, '1'],
    ])
  })

  it('a Java countDown opens ours, and ours counts what Java set', async () => {
    await rig.admin.multi().set(NAME, '2').publish(CHANNEL, '1').exec()
    const waiting = latch.await()
    await eventually(isParked)
    await latch.countDown()
    expect(await rig.admin.get(NAME)).toBe('1')
    await rig.admin.multi().decr(NAME).del(NAME).publish(CHANNEL, '0').exec()
    expect(await soon(waiting)).toBe(true)
  })

  it('WRONG_TYPE, and nothing is changed', async () => {
    await rig.admin.hset(NAME, 'f', 'v')
    const before = await rig.contents()
    for (const call of ['countDown', 'getCount', 'delete', 'await'] as const) {
      await expect(latch[call]()).rejects.toThrow(WrongTypeError)
      await expect(latch[call]()).rejects.toThrow('is not a count-down latch: WRONGTYPE')
    }
    await expect(latch.trySetCount(1)).rejects.toThrow(WrongTypeError)
    expect(await rig.contents()).toEqual(before)
    await rig.admin.del(NAME)
  })
})

describe('waits that nobody wakes', () => {
  it.each([
    ['the key is deleted by hand', () => rig.admin.del(NAME)],
    ['the key expires', () => rig.admin.pexpire(NAME, 1)],
  ])('end soon after %s (I4)', async (_what, end) => {
    await latch.trySetCount(1)
    const waiting = latch.await()
    await eventually(isParked)
    await end()
    expect(await soon(waiting)).toBe(true)
  })

  it('end after a reconnect during which the latch opened (I4)', async () => {
    const proxy = await rig.proxy()
    const client = await rig.client({ resyncInterval: 60_000 }, rig.connection({}, proxy))
    await latch.trySetCount(1)
    const waiting = client.getCountDownLatch(NAME).await()
    await eventually(isParked)
    proxy.refuse()
    await latch.countDown()
    proxy.pass()
    expect(await soon(waiting)).toBe(true)
  })

  it('an abort leaves no subscription (I5, I8)', async () => {
    await latch.trySetCount(1)
    const abort = new AbortController()
    const waiting = latch.await({ signal: abort.signal })
    await eventually(isParked)
    abort.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await eventually(async () => !(await isParked()))
    await rig.admin.del(NAME)
  })
})

describe('a countDown that is sent more than once', () => {
  it('counts once when its reply is lost, and when a copy comes late', async () => {
    const proxy = await rig.proxy()
    const client = await rig.client({ commandTimeout: 300 }, rig.connection({}, proxy))
    await latch.trySetCount(10)
    const isCountDown = runsOf(countDownScript)
    const lost = proxy.loseReply(isCountDown)
    const copy = proxy.copyLate(isCountDown, 200)
    await soon(client.getCountDownLatch(NAME).countDown())
    expect(lost.count).toBe(1)
    expect(await latch.getCount()).toBe(9)
    await soon(client.getCountDownLatch(NAME).countDown())
    await soon(copy.happened)
    expect(await latch.getCount()).toBe(8)
    await rig.admin.del(NAME)
  })
})
