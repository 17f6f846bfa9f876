import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { RedisSentinels, RedisServer } from '@holdfast/faults/harness'

let group: RedisSentinels

beforeEach(async () => {
  group = await RedisSentinels.start()
})
afterEach(() => group.stop())

/** The answers of each sentinel that runs. */
const namedPorts = (): Promise<number[]> =>
  Promise.all(
    group.sentinels
      .filter((sentinel) => sentinel.running)
      .map(async (sentinel) => {
        const reply = await sentinel.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', group.name)
        return Number((reply as [string, string])[1])
      }),
  )
const role = async (server: RedisServer): Promise<unknown> => ((await server.command('ROLE')) as unknown[])[0]

describe('RedisSentinels', () => {
  test('a fail-over changes the primary for everybody who asks a sentinel', async () => {
    expect(group.endpoints).toEqual(group.sentinels.map(({ port }) => ({ host: '127.0.0.1', port })))
    const former = await group.primary()
    expect(await namedPorts()).toEqual([former.port, former.port, former.port])
    await former.command('SET', 'a', 1)
    await group.healReplication() // resolves when the replicas are in sync

    const next = await group.failOver()
    expect(next).not.toBe(former)
    expect(await group.primary()).toBe(next)
    expect(await namedPorts()).toEqual([next.port, next.port, next.port])
    expect(await next.command('SET', 'b', 1)).toBe('OK')
    await group.healReplication()
    expect(await role(former)).toBe('slave')
    expect(await former.command('MGET', 'a', 'b')).toEqual(['1', '1'])
  })

  test('a killed primary is replaced although a sentinel is down, and may come back', async () => {
    const former = await group.primary()
    await former.command('SET', 'a', 1)
    await group.healReplication()
    await group.sentinels[0]!.pause()
    await former.kill()
    const next = await group.newPrimary(former)
    expect(await namedPorts()).toEqual([next.port, next.port])
    expect(await next.command('GET', 'a')).toBe('1')
    await former.restart()
    group.sentinels[0]!.resume()
    await group.healReplication()
    expect(await role(former)).toBe('slave')
    expect(await group.primary()).toBe(next)
  })

  test('a fail-over loses what was written after replication was cut', async () => {
    const former = await group.primary()
    await former.command('SET', 'kept', 1)
    await group.healReplication()
    await group.cutReplication()
    expect(await former.command('SET', 'lost', 1)).toBe('OK')
    const next = await group.failOver()
    expect(await next.command('MGET', 'kept', 'lost')).toEqual(['1', null])
    await group.healReplication()
    expect(await former.command('MGET', 'kept', 'lost')).toEqual(['1', null])
  })
})
