import { afterEach, describe, expect, test } from '@jest/globals'
import { RedisReplication } from '@holdfast/faults/harness'

let replication: RedisReplication | undefined
const start = async (replicas?: number): Promise<RedisReplication> => {
  replication = await RedisReplication.start(replicas === undefined ? {} : { replicas })
  return replication
}

afterEach(async () => {
  await replication?.stop()
  replication = undefined
})

describe('RedisReplication', () => {
  test('replicas are in sync, and after a promotion the others follow with the same data', async () => {
    const group = await start(2)
    const former = group.primary
    const [next, other] = group.replicas
    expect(await former.command('SET', 'a', 1)).toBe('OK')
    await expect(next!.command('SET', 'a', 2)).rejects.toThrow('READONLY')
    await group.healReplication() // resolves when they are in sync again
    expect(await Promise.all(group.replicas.map((each) => each.command('GET', 'a')))).toEqual(['1', '1'])

    await group.promote(next!)
    expect(group.primary).toBe(next)
    expect(new Set(group.replicas)).toEqual(new Set([former, other]))
    await expect(former.command('SET', 'a', 2)).rejects.toThrow('READONLY')
    await next!.command('SET', 'a', 2)
    await group.healReplication()
    expect(await Promise.all(group.nodes.map((each) => each.command('GET', 'a')))).toEqual(['2', '2', '2'])
  })

  test('a promotion while replication is cut loses what was written meanwhile', async () => {
    const group = await start()
    const former = group.primary
    const next = group.replicas[0]!
    await former.command('SET', 'kept', 1)
    await group.healReplication()
    group.cutReplication()
    await former.command('SET', 'lost', 1)
    await group.promote(next)
    expect(await next.command('MGET', 'kept', 'lost')).toEqual(['1', null])
    // Both take themselves for the primary until the partition is over.
    expect(await former.command('SET', 'lost', 2)).toBe('OK')
    expect(await next.command('SET', 'new', 1)).toBe('OK')

    await group.healReplication()
    const answers = await Promise.all(group.nodes.map((each) => each.command('MGET', 'kept', 'lost', 'new')))
    expect(answers).toEqual([
      ['1', null, '1'],
      ['1', null, '1'],
    ])
    await expect(former.command('SET', 'lost', 3)).rejects.toThrow('READONLY')
  })

  test('a replica can replace a primary that is gone, and a restarted server follows again', async () => {
    const group = await start(2)
    const former = group.primary
    await former.command('SET', 'a', 1)
    await group.healReplication()
    await former.kill()
    await group.promote(group.replicas[0]!)
    expect(await group.primary.command('GET', 'a')).toBe('1')
    await former.restart()
    await group.healReplication()
    expect(await former.command('GET', 'a')).toBe('1')
    expect(await former.command('ROLE')).toEqual(expect.arrayContaining(['slave', 'connected']))
  })

  test('refuses what cannot be', async () => {
    await expect(RedisReplication.start({ replicas: 0 })).rejects.toThrow(RangeError)
    const group = await start()
    const stranger = await RedisReplication.start()
    try {
      await expect(group.promote(stranger.primary)).rejects.toThrow('no data server of this topology')
    } finally {
      await stranger.stop()
    }
  })
})
