import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Redis } from 'ioredis'
import { FaultProxy, type Endpoint, type RedisServer } from '@holdfast/faults/harness'
import { encodeCommand } from '../../src/harness/network/resp.js'
import { RawClient } from './raw-client.js'
import { eventually, useProxy } from './support.js'

const LAST = 'last'
const MEAN = '\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n'

let redis: RedisServer
let proxy: FaultProxy
let cleanUp: (() => void)[]

/** A connection of which every byte is kept. */
class Tap {
  readonly #socket: Socket
  #received = Buffer.alloc(0)

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => (this.#received = Buffer.concat([this.#received, chunk])))
    cleanUp.push(() => socket.destroy())
  }

  static async connect({ host, port }: Endpoint): Promise<Tap> {
    const socket = connect({ host, port, noDelay: true })
    const tap = new Tap(socket)
    await once(socket, 'connect')
    return tap
  }

  /** The bytes since the last call, once they end as told. */
  async until(end: string): Promise<string> {
    await eventually(() => this.#received.toString('latin1').endsWith(end))
    const text = this.#received.toString('latin1')
    this.#received = Buffer.alloc(0)
    return text
  }

  send(...command: string[]): void {
    this.#socket.write(encodeCommand(command))
  }
}

const bulk = (content: string): string => `$${content.length}\r\n${content}\r\n`
const pushed = (...parts: string[]): string => `>${parts.length}\r\n${parts.map(bulk).join('')}`

const publish = async (channel: string, ...payloads: string[]): Promise<void> => {
  for (const payload of payloads) await redis.command('PUBLISH', channel, payload)
}

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => String(from + i))

/** A subscriber of ioredis, and what it has got. */
const subscriber = async (...channels: string[]): Promise<{ client: Redis; got: string[] }> => {
  const client = new Redis(proxy.url)
  cleanUp.push(() => client.disconnect())
  const got: string[] = []
  client.on('message', (_channel: string, payload: string) => void got.push(payload))
  client.on('pmessage', (_pattern: string, _channel: string, payload: string) => void got.push(`p${payload}`))
  await client.subscribe(...channels)
  return { client, got }
}

beforeEach(() => {
  cleanUp = []
})
afterEach(() => cleanUp.forEach((each) => each()))
useProxy((each) => ({ redis, proxy } = each))

describe('FaultProxy.dropPushes', () => {
  test('FaultProxy.dropPushes of the messages to a subscriber each n-th is missing, in order, until it is disarmed', async () => {
    const { got } = await subscriber('c')
    const dropped = proxy.dropPushes(3)
    await publish('c', ...numbers(1, 10))
    await eventually(() => got.length === 7)
    await dropped.happened
    expect([got, dropped.count]).toEqual([['1', '2', '4', '5', '7', '8', '10'], 3])
    dropped.cancel()
    await publish('c', ...numbers(11, 20))
    await eventually(() => got.at(-1) === '20')
    expect([got.slice(7), dropped.count]).toEqual([numbers(11, 20), 3])
    const again = proxy.dropPushes(1)
    await publish('c', ...numbers(21, 25))
    await eventually(() => again.count === 5)
    proxy.pass()
    await publish('c', LAST)
    await eventually(() => got.at(-1) === LAST)
    expect([got.length, again.count]).toEqual([18, 5])
  })

  test('patterns count too, replies and confirmations do not, and each connection counts for itself', async () => {
    const dropped = proxy.dropPushes(2)
    const [one, two] = [await subscriber('c'), await subscriber('c')]
    await one.client.psubscribe('c*')
    await publish('c', '1', '2')
    await one.client.subscribe('d')
    await one.client.ping()
    await publish('d', '3')
    await publish('c', '4')
    await eventually(() => dropped.count === 4)
    // One is sent 1, p1, 2, p2, 3, 4, p4; two is sent 1, 2, 4.
    await eventually(() => one.got.length === 4 && two.got.length === 2)
    expect([one.got, two.got, dropped.count]).toEqual([['1', '2', '3', 'p4'], ['1', '4'], 4])
  })

  test('a reply that looks like a message is none on a connection that never subscribed', async () => {
    const dropped = proxy.dropPushes(1)
    const client = await RawClient.connect(proxy)
    cleanUp.push(() => client.leave())
    await client.call('RPUSH', 'l', 'message', 'c', 'x')
    expect(await client.call('LRANGE', 'l', 0, -1)).toEqual(['message', 'c', 'x'])
    expect(dropped.count).toBe(0)
  })

  test('two at once: what either wants is missing, and each counts all', async () => {
    const { got } = await subscriber('c')
    const [second, third] = [proxy.dropPushes(2), proxy.dropPushes(3)]
    await publish('c', ...numbers(1, 13))
    await eventually(() => got.at(-1) === '13')
    expect([got, second.count, third.count]).toEqual([['1', '5', '7', '11', '13'], 6, 4])
  })

  test('the bytes to a client in RESP3 are those that Redis sent, without each n-th message', async () => {
    const [direct, tap] = [await Tap.connect(redis), await Tap.connect(proxy)]
    const dropped = proxy.dropPushes(2)
    for (const each of [direct, tap]) {
      each.send('HELLO', '3')
      each.send('SUBSCRIBE', 'c')
      each.send('PSUBSCRIBE', 'c*')
      each.send('SSUBSCRIBE', 's')
    }
    const subscribed = `>3\r\n${bulk('ssubscribe')}${bulk('s')}:1\r\n`
    const id = /(?<=\$2\r\nid\r\n):\d+/
    const [sent, got] = [await direct.until(subscribed), await tap.until(subscribed)]
    expect(got.replace(id, '')).toBe(sent.replace(id, ''))
    const big = 'x'.repeat(300_000)
    await publish('c', MEAN, big)
    await redis.command('SPUBLISH', 's', MEAN)
    await redis.command('RPUSH', 'l', 'message', 'c', 'x')
    tap.send('LRANGE', 'l', '0', '-1')
    const reply = `*3\r\n${['message', 'c', 'x'].map(bulk).join('')}`
    expect(await tap.until(reply)).toBe(
      pushed('message', 'c', MEAN) + pushed('message', 'c', big) + pushed('smessage', 's', MEAN) + reply,
    )
    expect(dropped.count).toBe(2)
    dropped.cancel()
    await publish('c', LAST)
    const both = pushed('message', 'c', LAST) + pushed('pmessage', 'c*', 'c', LAST)
    expect(await tap.until(both)).toBe(both)
  })

  test('a server that does not speak RESP is an error for who asks, and is passed on', async () => {
    const web = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    await new Promise<void>((resolve) => void web.listen(0, '127.0.0.1', resolve))
    cleanUp.push(() => web.close())
    const between = await FaultProxy.start({ host: '127.0.0.1', port: (web.address() as AddressInfo).port })
    const dropped = between.dropPushes(1)
    const tap = await Tap.connect(between)
    expect(await tap.until('\r\n\r\n')).toBe('HTTP/1.1 400 Bad Request\r\n\r\n')
    await expect(dropped.happened).rejects.toThrow('not RESP')
    await between.stop()
  })

  test.each([0, -1, 1.5, Number.NaN])('refuses to drop each %d-th', (everyNth) => {
    expect(() => proxy.dropPushes(everyNth)).toThrow(`everyNth is a positive integer, not ${everyNth}`)
  })
})
