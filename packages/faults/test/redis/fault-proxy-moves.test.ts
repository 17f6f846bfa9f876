import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { FaultProxy, RedisServer } from '@holdfast/faults/harness'
import { RawClient } from './raw-client.js'

let redis: RedisServer
let other: RedisServer
let proxy: FaultProxy

beforeAll(async () => {
  ;[redis, other] = await Promise.all([RedisServer.start(), RedisServer.start()])
  await Promise.all([redis.command('SET', 'who', 'first'), other.command('SET', 'who', 'second')])
})
afterAll(() => Promise.all([redis.stop(), other.stop()]))
beforeEach(async () => {
  proxy = await FaultProxy.start(redis)
})
afterEach(() => proxy.stop())

describe('FaultProxy.retarget', () => {
  test('sends new connections elsewhere and leaves the present ones', async () => {
    const present = await RawClient.connect(proxy)
    await present.call('PING')
    proxy.retarget(other)
    expect(await (await RawClient.connect(proxy)).call('GET', 'who')).toBe('second')
    expect(await present.call('GET', 'who')).toBe('first')
  })

  test('with cutAll moves everybody', async () => {
    const present = await RawClient.connect(proxy)
    await present.call('PING')
    proxy.retarget(other)
    proxy.cutAll()
    await present.closed
    expect(await (await RawClient.connect(proxy)).call('GET', 'who')).toBe('second')
  })
})

describe('FaultProxy.halfOpenAll', () => {
  test('silences the present connections for good, and serves new ones', async () => {
    const present = await RawClient.connect(proxy)
    await present.call('PING')
    proxy.halfOpenAll()
    present.send(['SET', 'silent', 1])
    expect(await (await RawClient.connect(proxy)).call('GET', 'who')).toBe('first')
    // Nor does it heal: the other side of a half-open connection never comes back.
    proxy.pass()
    await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    expect(await (await RawClient.connect(proxy)).call('EXISTS', 'silent')).toBe(0)
    expect([present.open, present.replies]).toEqual([true, ['PONG']])
    proxy.cutAll()
    await present.closed
  })

  test('FaultProxy.halfOpenAll of subscribers only, leaves the others as they are', async () => {
    const [listener, present] = await Promise.all([RawClient.connect(proxy), RawClient.connect(proxy)])
    await listener.call('SUBSCRIBE', 'news')
    await present.call('PING')
    proxy.halfOpenAll('subscribers')
    await redis.command('PUBLISH', 'news', 'unheard')
    expect(await present.call('GET', 'who')).toBe('first')
    expect([listener.open, listener.replies.length, proxy.accepted]).toEqual([true, 1, 2])
  })

  test('keeps the delay of the wire', async () => {
    proxy.delay(40)
    proxy.halfOpenAll()
    const startMs = performance.now()
    expect(await (await RawClient.connect(proxy)).call('PING')).toBe('PONG')
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(79)
  })
})
