import { afterEach, describe, expect, jest, test } from '@jest/globals'
import { Command } from 'ioredis'
import { play, planOf } from '../../src/simulator/index.js'
import { Network } from '../../src/simulator/network/network.js'
import { SimulatedRedis, USUAL } from '../../src/simulator/network/redis-client.js'
import { wordsOf } from '../../src/simulator/network/request.js'
import { Wire } from '../../src/simulator/network/wire.js'
import { chanceOf } from '../../src/simulator/world/chance.js'
import { Process } from '../../src/simulator/world/process.js'
import { World } from '../../src/simulator/world/world.js'

afterEach(() => {
  jest.restoreAllMocks()
})

const connected = async (settings = USUAL) => {
  const world = new World()
  const network = new Network(world, 1)
  const process = new Process(world, 'p0', chanceOf(1, 'p0'))
  const wire = new Wire(chanceOf(1, 'wire'), 1)
  const endpoint = { process, wire, connections: new Set<SimulatedRedis>(), primary: () => network.primary }
  const redis = new SimulatedRedis(endpoint, settings)
  await world.run(() => redis.status === 'ready', 1_000)
  return { world, redis }
}

/** A script as the library sends it: it says at once, and not by a promise, how it has ended. */
const sent = (redis: SimulatedRedis, ended: (what: unknown) => void): void => {
  const command = new Command('eval', ['return KEYS[1]', '1', 'заказ:42'], { replyEncoding: 'utf8' })
  const { resolve, reject } = command
  command.promise.catch(() => undefined)
  command.resolve = (reply) => {
    resolve(reply)
    ended(reply)
  }
  command.reject = (error) => {
    reject(error)
    ended(error.message)
  }
  void redis.sendCommand(command as never)
}

describe('the client of a simulated world', () => {
  test('gets every script as it does in production: as a command of the library that encodes itself', async () => {
    const send = jest.spyOn(SimulatedRedis.prototype, 'sendCommand')
    await play(planOf(1))
    const commands = send.mock.calls.map(([command]) => command as Command)
    const scripts = commands.filter(({ name }) => name === 'evalsha' || name === 'eval')

    expect(scripts.length).toBeGreaterThan(100)
    expect(scripts.filter((each) => each instanceof Command)).toEqual([])
  })

  test('makes the commands of its methods as ioredis does', async () => {
    const { world, redis } = await connected()
    const replies: unknown[] = []
    void redis.eval('return {KEYS[1], ARGV[1]}', 1, 'заказ:42', '🔒').then((reply) => replies.push(reply))
    await world.run(() => replies.length > 0, 2_000)

    expect(replies).toEqual([['заказ:42', '🔒']])
    expect(Object.hasOwn(redis, 'evalsha')).toBe(false)
  })

  test('settles a command in the turn of its reply', async () => {
    const { world, redis } = await connected()
    const order: unknown[] = []
    sent(redis, (reply) => {
      order.push(reply)
      queueMicrotask(() => order.push('later'))
    })
    sent(redis, (reply) => order.push(reply))
    await world.run(() => order.length === 4, 2_000)

    expect(order).toEqual(['заказ:42', 'заказ:42', 'later'])
  })

  test.each([
    ['whose connection is given up', { ...USUAL, retryStrategy: () => null }, 'Connection is closed.'],
    [
      'that is tried once',
      { ...USUAL, maxRetriesPerRequest: 0 },
      'Reached the max retries per request limit (which is 0).',
    ],
  ])('fails a command %s before anybody hears that the connection broke', async (_, settings, why) => {
    const { world, redis } = await connected(settings)
    const order: unknown[] = []
    redis.on('close', () => order.push('close'))
    sent(redis, (reason) => order.push(reason))
    redis.breakOff({ kind: 'lost' })
    await world.run(() => false, 1_000)

    expect(order).toEqual([why, 'close'])
  })

  test('sends a command again that was in flight, unless it is given up', async () => {
    const { world, redis } = await connected()
    const order: unknown[] = []
    sent(redis, (reply) => order.push(reply))
    redis.breakOff({ kind: 'lost' })
    await world.run(() => false, 1_000)

    expect(order).toEqual(['заказ:42'])
  })
})

describe('a request', () => {
  test('is read by the lengths of its words in bytes', () => {
    const request = new Command('eval', ['', '0', 'a\r\n$1\r\n', 'заказ:🔒']).toWritable(null as never)

    expect(wordsOf(request)).toEqual(['eval', '', '0', 'a\r\n$1\r\n', 'заказ:🔒'])
  })

  test.each(['', 'PING\r\n', '*2\r\n$4\r\nping\r\n', '*1\r\n$3\r\nping\r\n', '*1\r\n$\r\nping\r\n'])(
    'a request of other lengths than it says is none: %j',
    (request) => {
      expect(() => wordsOf(request)).toThrow(/length/)
    },
  )
})
