import { describe, expect, test } from '@jest/globals'
import type { FaultProxy, RedisServer } from '@holdfast/faults/harness'
import { RawClient } from './raw-client.js'
import { eventually, useProxy } from './support.js'

let redis: RedisServer
let proxy: FaultProxy
/** Resolves when Redis has so many connections, beside the one that asks. It sees who leaves a moment later. */
const hasConnections = (count: number): Promise<void> =>
  eventually(async () => {
    const info = String(await redis.command('INFO', 'clients'))
    return Number(/connected_clients:(\d+)/.exec(info)?.[1]) === 1 + count
  })

useProxy((each) => ({ redis, proxy } = each))

describe('FaultProxy as a wire', () => {
  test('passes both ways, counts connections, and hands on who leaves', async () => {
    const [one, two] = [await RawClient.connect(proxy), await RawClient.connect(proxy)]
    expect(await one.call('SET', 'a', 'x'.repeat(300_000))).toBe('OK')
    expect(await two.call('STRLEN', 'a')).toBe(300_000)
    expect(await two.call('GET', 'a')).toHaveLength(300_000)
    expect(proxy.connections).toBe(2)
    one.leave()
    await eventually(() => proxy.connections === 1)
    await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await two.closed
    await eventually(() => proxy.connections === 0)
  })

  test('a client that has ended its side still gets its replies', async () => {
    const client = await RawClient.connect(proxy)
    proxy.delay(20)
    client.send(['SET', 'a', 1], ['GET', 'a'])
    client.end()
    await client.closed
    expect(client.replies).toEqual(['OK', '1'])
  })

  test('a server that is down closes the client', async () => {
    await redis.kill()
    const client = await RawClient.connect(proxy)
    await client.closed
    await redis.restart()
    const again = await RawClient.connect(proxy)
    expect(await again.call('PING')).toBe('PONG')
  })

  test('delay holds each direction up and keeps the order', async () => {
    const client = await RawClient.connect(proxy)
    await client.call('PING')
    proxy.delay(40)
    const startMs = performance.now()
    client.send(['RPUSH', 'l', 'a'])
    client.send(['RPUSH', 'l', 'b'])
    expect(await client.call('LRANGE', 'l', 0, -1)).toBe(1)
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(79)
    await eventually(() => client.replies.length === 4)
    expect(client.replies.slice(1)).toEqual([1, 2, ['a', 'b']])
  })

  test('refuse cuts what is there and closes what comes, until pass', async () => {
    const client = await RawClient.connect(proxy)
    await client.call('PING')
    proxy.refuse()
    await client.closed
    const refused = await RawClient.connect(proxy)
    await refused.closed
    expect(proxy.connections).toBe(0)
    proxy.pass()
    expect(await (await RawClient.connect(proxy)).call('PING')).toBe('PONG')
  })

  test('cutAll cuts both sides and lets new connections in', async () => {
    await hasConnections(0)
    const client = await RawClient.connect(proxy)
    await client.call('PING')
    await hasConnections(1)
    proxy.cutAll()
    await client.closed
    await hasConnections(0)
    expect(await (await RawClient.connect(proxy)).call('PING')).toBe('PONG')
  })

  test('stop is safe twice and closes the port', async () => {
    const client = await RawClient.connect(proxy)
    const { port } = proxy
    await proxy.stop()
    await proxy.stop()
    await client.closed
    await expect(RawClient.connect({ host: '127.0.0.1', port })).rejects.toThrow('ECONNREFUSED')
  })
})

describe('FaultProxy.blackHole', () => {
  test('keeps connections, forwards nothing, and delivers late when it heals', async () => {
    const client = await RawClient.connect(proxy)
    await client.call('PING')
    proxy.blackHole()
    proxy.blackHole()
    client.send(['INCR', 'a'])
    const newcomer = await RawClient.connect(proxy)
    newcomer.send(['INCR', 'a'])
    await redis.command('PING')
    expect(await redis.command('GET', 'a')).toBeNull()
    expect([client.open, newcomer.open, client.replies, proxy.connections]).toEqual([true, true, ['PONG'], 2])
    proxy.pass()
    await eventually(() => client.replies.length === 2 && newcomer.replies.length === 1)
    expect(await redis.command('GET', 'a')).toBe('2')
  })

  test('holds replies back as well', async () => {
    const client = await RawClient.connect(proxy)
    client.send(['BLPOP', 'l', 0])
    await eventually(async () => /blocked_clients:1/.test(String(await redis.command('INFO', 'clients'))))
    proxy.blackHole()
    await redis.command('RPUSH', 'l', 'x')
    await redis.command('PING')
    expect(client.replies).toEqual([])
    proxy.pass()
    await eventually(() => client.replies.length === 1)
    expect(client.replies).toEqual([['l', 'x']])
  })

  test('what a client sent before it left arrives when it heals, and only then the server sees it leave', async () => {
    await hasConnections(0)
    const client = await RawClient.connect(proxy)
    await client.call('PING')
    proxy.blackHole()
    client.send(['INCR', 'a'])
    client.leave()
    await client.closed
    await hasConnections(1)
    expect(await redis.command('GET', 'a')).toBeNull()
    expect(proxy.connections).toBe(1)
    proxy.pass()
    await eventually(() => proxy.connections === 0)
    await hasConnections(0)
    expect(await redis.command('GET', 'a')).toBe('1')
  })

  test('cutAll drops what it held', async () => {
    const client = await RawClient.connect(proxy)
    await client.call('PING')
    proxy.blackHole()
    client.send(['INCR', 'a'])
    proxy.cutAll()
    await client.closed
    proxy.pass()
    expect(await (await RawClient.connect(proxy)).call('GET', 'a')).toBeNull()
    expect(proxy.connections).toBe(1)
  })
})
