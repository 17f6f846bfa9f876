import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { describe, expect, test } from '@jest/globals'
import { Redis } from 'ioredis'
import { FaultProxy, type RedisServer } from '@holdfast/faults/harness'
import { RawClient } from './raw-client.js'
import { eventually, useProxy } from './support.js'

let redis: RedisServer
let proxy: FaultProxy
const has =
  (text: string) =>
  (bytes: Buffer): boolean =>
    bytes.includes(text)

useProxy((each) => ({ redis, proxy } = each))

describe('FaultProxy.loseReply', () => {
  test('the command has run when the connection is cut, and only that connection is', async () => {
    const [client, bystander] = [await RawClient.connect(proxy), await RawClient.connect(proxy)]
    const lost = proxy.loseReply(has('INCR'))
    expect(await client.call('SET', 'other', 1)).toBe('OK')
    expect(lost.count).toBe(0)
    expect(await client.call('INCR', 'a')).toBeUndefined()
    await lost.happened
    await client.closed
    expect(lost.count).toBe(1)
    expect(await redis.command('GET', 'a')).toBe('1')
    expect(await bystander.call('INCR', 'a')).toBe(2)
    expect(proxy.connections).toBe(1)
  })

  test('a reply to an earlier command does not cut the connection before this one has run', async () => {
    const heard: string[] = []
    const sockets: Socket[] = []
    const slow = createServer({ allowHalfOpen: true }, (socket) => {
      sockets.push(socket)
      socket.on('data', (bytes) => void heard.push(bytes.toString()))
      socket.on('end', () => void heard.push('end'))
    })
    await new Promise<void>((resolve) => void slow.listen(0, '127.0.0.1', resolve))
    const { port } = slow.address() as AddressInfo
    const between = await FaultProxy.start({ host: '127.0.0.1', port })
    const client = await RawClient.connect(between)
    const lost = between.loseReply(has('INCR'))
    client.send(['PING'])
    await eventually(() => heard.length === 1)
    client.send(['INCR', 'a'])
    await eventually(() => heard.length === 2)
    sockets[0]!.write('+PONG\r\n')
    await eventually(() => heard.at(-1) === 'end')
    expect([client.open, client.replies, lost.count]).toEqual([true, [], 0])
    sockets[0]!.end(':1\r\n')
    await lost.happened
    await client.closed
    expect(client.replies).toEqual([])
    await between.stop()
    await new Promise((resolve) => void slow.close(resolve))
  })

  test('also when the client does not wait for it', async () => {
    const client = await RawClient.connect(proxy)
    await client.call('PING')
    await redis.pause()
    const lost = proxy.loseReply(has('INCR'))
    client.send(['INCR', 'a'])
    client.end()
    client.leave()
    await client.closed
    redis.resume()
    await lost.happened
    expect(await redis.command('GET', 'a')).toBe('1')
  })

  test('as often as asked, then no more; cancel and pass disarm', async () => {
    const lost = proxy.loseReply(has('INCR'), 2)
    for (let time = 0; time < 2; time += 1) {
      const client = await RawClient.connect(proxy)
      expect(await client.call('INCR', 'a')).toBeUndefined()
    }
    await lost.happened
    const client = await RawClient.connect(proxy)
    expect(await client.call('INCR', 'a')).toBe(3)
    const cancelled = proxy.loseReply(has('INCR'))
    cancelled.cancel()
    expect(await client.call('INCR', 'a')).toBe(4)
    proxy.loseReply(has('INCR'))
    proxy.pass()
    expect(await client.call('INCR', 'a')).toBe(5)
    expect([lost.count, cancelled.count]).toEqual([2, 0])
  })

  test('makes ioredis, with its default options, run a command twice', async () => {
    const client = new Redis(proxy.url, { retryStrategy: () => 1 })
    await client.ping()
    const lost = proxy.loseReply(has('incr'))
    expect(await client.incr('a')).toBe(2)
    await lost.happened
    await client.quit()
  })
})

describe('FaultProxy.lie', () => {
  test('the command has run though its answer is an error, and the connection stays', async () => {
    const client = await RawClient.connect(proxy)
    const lie = proxy.lie(has('INCR'), 'upstream failure')
    expect(await client.call('SET', 'a', 1)).toBe('OK')
    await expect(client.call('INCR', 'a')).resolves.toMatchObject({ message: 'upstream failure' })
    await lie.happened
    expect(await client.call('INCR', 'a')).toBe(3)
  })
})

describe('FaultProxy.loseRequest', () => {
  test('the command has not run when the connection is cut, and only that connection is', async () => {
    const [client, bystander] = [await RawClient.connect(proxy), await RawClient.connect(proxy)]
    const lost = proxy.loseRequest(has('INCR'))
    expect(await client.call('SET', 'other', 1)).toBe('OK')
    expect(await client.call('INCR', 'a')).toBeUndefined()
    await lost.happened
    await client.closed
    expect(lost.count).toBe(1)
    expect(await redis.command('GET', 'a')).toBeNull()
    expect(await bystander.call('INCR', 'a')).toBe(1)
    expect(proxy.connections).toBe(1)
  })

  test('its late copy is the first that the server hears of it, after what was sent again', async () => {
    let deliver = (): void => undefined
    const after = new Promise<void>((resolve) => (deliver = resolve))
    const copied = proxy.copyLate(has('SET'), after)
    const lost = proxy.loseRequest(has('SET'))
    expect(await (await RawClient.connect(proxy)).call('SET', 'a', 'old')).toBeUndefined()
    await lost.happened
    expect(await (await RawClient.connect(proxy)).call('SET', 'a', 'new')).toBe('OK')
    expect(await redis.command('GET', 'a')).toBe('new')
    deliver()
    await copied.happened
    expect(await redis.command('GET', 'a')).toBe('old')
  })

  test('a chunk is lost once: the reply of the next one is lost to the other fault', async () => {
    const faults = [proxy.loseRequest(has('INCR')), proxy.loseReply(has('INCR'))]
    for (const value of [null, '1']) {
      expect(await (await RawClient.connect(proxy)).call('INCR', 'a')).toBeUndefined()
      expect(await redis.command('GET', 'a')).toBe(value)
    }
    expect(faults.map((fault) => fault.count)).toEqual([1, 1])
  })
})

describe('FaultProxy.copyLate', () => {
  test('the command runs again later on another connection, and its reply reaches nobody', async () => {
    const client = await RawClient.connect(proxy)
    const copied = proxy.copyLate(has('INCR'), 50)
    const startMs = performance.now()
    expect(await client.call('INCR', 'a')).toBe(1)
    await copied.happened
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(49)
    expect(await client.call('GET', 'a')).toBe('2')
    expect(client.replies).toEqual([1, '2'])
    expect(copied.count).toBe(1)
  })

  test('a chunk can lose its reply and come again', async () => {
    const client = await RawClient.connect(proxy)
    const [copied, lost] = [proxy.copyLate(has('INCR'), 1), proxy.loseReply(has('INCR'))]
    expect(await client.call('INCR', 'a')).toBeUndefined()
    await Promise.all([copied.happened, lost.happened])
    expect(await redis.command('GET', 'a')).toBe('2')
  })

  test('a copy that cannot be delivered is an error for who asks', async () => {
    const client = await RawClient.connect(proxy)
    const copied = proxy.copyLate(has('INCR'), 60_000)
    expect(await client.call('INCR', 'a')).toBe(1)
    await proxy.stop()
    await expect(copied.happened).rejects.toThrow('aborted')
    expect(copied.count).toBe(0)
  })
})
