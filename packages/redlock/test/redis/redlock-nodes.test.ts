import { afterEach, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { eventually } from '../../../core/test/redis/support/rig.js'
import { useNodes } from '../../../core/test/redis/support/nodes.js'
import Redlock, { ExecutionError, ResourceLockedError, type Settings } from '../../src/index.js'

describe('Redlock on three Redis', () => {
  const connections: Redis[] = []
  afterEach(() => connections.splice(0).forEach((redis) => redis.disconnect()))
  const nodes = useNodes(3)

  const make = (settings: Partial<Settings> = {}): { redlock: Redlock; clients: Redis[] } => {
    const clients = nodes.all.map(({ proxy }) => new Redis(proxy.url, { retryStrategy: () => 20 }))
    clients.forEach((redis) => redis.on('error', () => undefined))
    connections.push(...clients)
    return { redlock: new Redlock(clients, settings), clients }
  }
  const holders = async (name: string): Promise<boolean[]> =>
    (await nodes.holders(name)).map((owner) => owner !== undefined)

  it('locks on all, and needs a majority (I1)', async () => {
    const { redlock, clients } = make({ retryCount: 0 })
    await clients[2]!.set('{a}1', 'theirs')
    const lock = await redlock.acquire(['{a}1', '{a}2'], 5_000)
    const [stats] = await Promise.all(lock.attempts)
    expect(stats).toMatchObject({ membershipSize: 3, quorumSize: 2 })
    // In the order in which they answered.
    expect(clients.map((each) => stats!.votesFor.has(each))).toEqual([true, true, false])
    expect([...stats!.votesAgainst.keys()]).toEqual([clients[2]])
    const extended = await lock.extend(10_000)
    await extended.release()
    expect(await clients[2]!.getdel('{a}1')).toBe('theirs')
    await eventually(async () => (await nodes.keys()).length === 0)
  })

  it('leaves nothing behind where it got no majority', async () => {
    const { redlock, clients } = make({ retryCount: 2, retryDelay: 5, retryJitter: 5 })
    await Promise.all([clients[1]!.set('a', 'theirs'), clients[2]!.set('a', 'theirs')])
    const error = (await redlock.acquire(['a'], 5_000).catch((each: unknown) => each)) as ExecutionError
    expect(error).toBeInstanceOf(ExecutionError)
    expect(error.attempts).toHaveLength(3)
    await eventually(async () => (await clients[0]!.exists('a')) === 0)
    await Promise.all(clients.map((redis) => redis.del('a')))
  })

  it('keeps, extends and releases a lock while one of them is away', async () => {
    const { redlock } = make()
    const lock = await redlock.acquire(['a'], 20_000)
    await eventually(async () => (await holders('a')).every(Boolean))
    nodes.at(0).proxy.refuse()
    nodes.at(0).proxy.cutAll()
    const extended = await lock.extend(20_000)
    await extended.release()
    nodes.at(0).proxy.pass()
    await eventually(async () => !(await holders('a')).some(Boolean))
  })

  it('is woken at the first that refuses, although others are refused too', async () => {
    const first = await make().redlock.acquire(['a'], 20_000)
    const { redlock } = make({ retryCount: 1, retryDelay: 60_000, retryJitter: 0 })
    const refusals: Error[] = []
    redlock.on('error', (error: Error) => refusals.push(error))
    const got = redlock.acquire(['a'], 5_000)
    // The first attempt has failed: it waits for the second, a minute.
    await eventually(() => refusals.length === 3)
    expect(refusals.every((error) => error instanceof ResourceLockedError)).toBe(true)
    await first.release()
    await (await got).release()
    // A release is over with the second answer.
    await eventually(async () => (await nodes.keys()).length === 0)
  })

  it('lets one of many contenders in at a time, and each in the end (I1)', async () => {
    const inside = new Set<number>()
    const most: number[] = []
    const contend = async (id: number): Promise<void> => {
      const { redlock } = make({ retryCount: -1, retryDelay: 50, retryJitter: 20 })
      for (let i = 0; i < 3; i += 1) {
        await redlock.using(['a'], 10_000, async () => {
          inside.add(id)
          most.push(inside.size)
          await nodes.at(1).server.command('PING')
          inside.delete(id)
        })
      }
    }
    await Promise.all([0, 1, 2].map(contend))
    expect(most).toEqual(Array(9).fill(1))
    await eventually(async () => (await nodes.keys()).length === 0)
  })
})
