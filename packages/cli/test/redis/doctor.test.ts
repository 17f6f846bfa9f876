import { afterEach, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { LockClient } from '@holdfast/core'
import { report } from '@holdfast/core/observe'
import { FaultProxy, RedisReplication, RedisServer, type RedisServerOptions } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { Connection } from '../../src/connection.js'
import { diagnose } from '../../src/doctor/doctor.js'
import { checkRights } from '../../src/doctor/lock-checks.js'
import { findingsOf } from '../../src/doctor/server-checks.js'
import { holdfast } from './support/in-process.js'
import { until } from './support/command-line.js'

const after: (() => unknown)[] = []
afterEach(async () => {
  for (const end of after.splice(0).reverse()) await end()
})

// A machine that is busy makes commands slow that are not.
const UNTIMED = ['--slowlog-log-slower-than', '-1']
const KEPT = ['--appendonly', 'yes', ...UNTIMED]
const serverWith = async (
  args: readonly string[] = KEPT,
  options: RedisServerOptions = {},
): Promise<RedisServer> => {
  const server = await RedisServer.start({ ...options, args })
  after.push(() => server.stop())
  return server
}
/** The URL of a user with these rights on a server of its own. */
const urlWithRights = async (...rights: string[]): Promise<string> => {
  const server = await serverWith()
  await server.command('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', ...rights)
  return server.url.replace('//', '//app:secret@')
}
const clientOf = async (url: string, name: string): Promise<LockClient> => {
  const locks = await LockClient.connect(url, { clientName: name, bareCalls: 'allow' })
  locks.on('lost', () => undefined)
  after.push(() => locks.close({ graceMs: 0 }))
  return locks
}
/** The ids of what is found; each with its level, what it says and a remedy. */
const found = async (url: string, wallNow?: () => number): Promise<string[]> => {
  const connection = new Connection({ url, timeout: 5_000 })
  try {
    const { findings } = await diagnose(connection, wallNow)
    for (const each of findings)
      expect([each.found.length > 20, each.remedy.length > 20]).toEqual([true, true])
    return findings.map(({ id, level }) => `${level} ${id}`)
  } finally {
    await connection.close()
  }
}

describe('holdfast doctor', () => {
  it('says nothing on a good server, on which locks are held and waited for', async () => {
    const { url } = await serverWith()
    const [one, other] = [await clientOf(url, 'one'), await clientOf(url, 'other')]
    for (const each of [one, other]) {
      const reporting = report(each)
      after.push(() => reporting.stop())
    }
    await one.getLock('plain').acquire()
    await one.getFairLock('fair').acquire()
    await one.getReadWriteLock('both').readLock().acquire()
    await one.getSemaphore('permits').trySetPermits(3)
    const enough = new AbortController()
    const waits = [
      other.getLock('plain').acquire({ signal: enough.signal }),
      other.getFairLock('fair').acquire({ signal: enough.signal }),
    ]
    expect(await found(url)).toEqual([])
    expect(await holdfast(['--url', url, 'doctor'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `holdfast: nothing was found at ${url}\n`,
    })
    expect(JSON.parse((await holdfast(['--url', url, 'doctor', '--json'])).stdout)).toEqual({
      server: url,
      findings: [],
      unchecked: [],
    })
    enough.abort()
    await Promise.allSettled(waits)
  })

  it('with --key-prefix, looks at the keys behind that prefix, and at no others', async () => {
    const { url } = await serverWith()
    const prefixed = async (prefix: string): Promise<[string, string][]> => {
      const args = ['--url', url, '--key-prefix', prefix, 'doctor', '--json']
      const { findings } = JSON.parse((await holdfast(args)).stdout) as {
        findings: { id: string; found: string }[]
      }
      return findings.map(({ id, found }) => [id, found.split(' ')[0]!])
    }
    const redis = new Redis(url)
    after.push(() => redis.disconnect())
    await redis.hset('shop:endless', 'c~0123456789abcdefghijk:1', '1')
    await redis.hset('shop:mixed', 'c~0123456789abcdefghijk:2', '1')
    await redis.pexpire('shop:mixed', 60_000)
    await redis.rpush('shop:redisson_lock_queue:{mixed}', 'c~0123456789abcdefghijk:3')
    await redis.zadd('shop:holdfast:line:{mixed}', 1, 'c~0123456789abcdefghijk:4')
    expect(await prefixed('shop:')).toEqual([
      ['no-end', 'endless'],
      ['mixed-use', 'mixed'],
    ])
    expect(await prefixed('other:')).toEqual([])
  })

  it('prints what it found with the remedy, and exits 1', async () => {
    const { url } = await serverWith(UNTIMED)
    const { code, stdout } = await holdfast(['--url', url, 'doctor'])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^warning persistence {2}127\.0\.0\.1:\d+: .*\n {2}CONFIG SET appendonly yes/)
  })

  it('1 a server that is too old', () => {
    const facts = {
      address: 'x',
      config: undefined,
      roundTripsMs: [1],
      clockAheadMs: 0,
      slowCommands: undefined,
    }
    const withVersion = (...info: [string, string][]) =>
      findingsOf({ ...facts, info: new Map(info) }).map(({ id }) => id)
    expect(withVersion(['redis_version', '6.0.16'])).toEqual(['version'])
    expect(withVersion(['redis_version', '6.2.0'])).toEqual([])
    expect(withVersion(['redis_version', '7.2.4'], ['valkey_version', '8.0.1'])).toEqual([])
  })

  it('2 an eviction policy that removes held locks', async () => {
    const { url } = await serverWith([...KEPT, '--maxmemory', '100mb', '--maxmemory-policy', 'volatile-lru'])
    expect(await found(url)).toEqual(['error eviction'])
  })

  it('3 memory that is nearly full', async () => {
    const server = await serverWith()
    const used = Number(/used_memory:(\d+)/.exec(String(await server.command('INFO', 'memory')))?.[1])
    await server.command('CONFIG', 'SET', 'maxmemory', Math.round(used * 1.06))
    expect(await found(server.url)).toEqual(['warning memory'])
  })

  it('4 data that a restart forgets, all of it or the latest', async () => {
    expect(await found((await serverWith(UNTIMED)).url)).toEqual(['warning persistence'])
    expect(await found((await serverWith(['--save', '3600 1', ...UNTIMED])).url)).toEqual([
      'warning persistence',
    ])
  })

  it('5 a disk that cannot be written to', async () => {
    const server = await serverWith()
    const [, folder] = (await server.command('CONFIG', 'GET', 'dir')) as [string, string]
    await server.command('CONFIG', 'SET', 'save', '3600 1')
    await server.command('SET', 'x', 'y')
    await rm(folder, { recursive: true })
    await server.command('BGSAVE')
    await until(async () => String(await server.command('INFO', 'persistence')).includes('bgsave_status:err'))
    expect(await found(server.url)).toEqual(['error persistence-fails'])
  })

  it('6 a user that may not run scripts', async () => {
    expect(await found(await urlWithRights('&*', '+@all', '-@scripting'))).toEqual(['error scripts'])
  })

  it('7 a user that hears no messages', async () => {
    expect(await found(await urlWithRights('resetchannels', '+@all'))).toEqual(['warning messages'])
  })

  it('7 a proxy that carries no messages, once none came back within --timeout', async () => {
    const proxy = await FaultProxy.start(await serverWith())
    after.push(() => proxy.stop())
    proxy.dropPushes(1)
    const redis = new Redis(proxy.url)
    after.push(() => redis.disconnect())
    const [finding] = await checkRights(redis, await clientOf(proxy.url, 'one'), 100)
    expect(finding).toMatchObject({ id: 'messages', level: 'warning' })
    expect(finding?.found).toContain('no message came back within 100 ms')
  })

  it('8 a replica instead of the primary, and 9 replicas that a fail-over would forget locks by', async () => {
    const group = await RedisReplication.start({ replicas: 1, args: KEPT })
    after.push(() => group.stop())
    expect(await found(group.replicas[0]!.url)).toEqual(['error replica'])
    expect(await found(group.primary.url)).toEqual(['warning replicas-unacknowledged'])
    await group.primary.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
    expect(await found(group.primary.url)).toEqual([])
  })

  it('10 a clock that is not that of this machine', async () => {
    const { url } = await serverWith()
    expect(await found(url, () => Date.now() + 60_000)).toEqual(['warning clock'])
  })

  it('11 a server that is far away', async () => {
    const server = await serverWith()
    const proxy = await FaultProxy.start(server)
    after.push(() => proxy.stop())
    proxy.delay(130)
    expect(await found(`redis://127.0.0.1:${proxy.port}`)).toEqual(['warning latency'])
  })

  it('12 commands that keep all others waiting', async () => {
    const server = await serverWith()
    const busy =
      'local t = redis.call("time"); local n = t[1] * 1000000 + t[2]; repeat t = redis.call("time") until t[1] * 1000000 + t[2] > n + 60000'
    await server.command('CONFIG', 'SET', 'slowlog-log-slower-than', '50000')
    await server.command('EVAL', busy, '0')
    expect(await found(server.url)).toEqual(['warning slow-commands'])
  })

  it('13 locks without a time to live', async () => {
    const server = await serverWith()
    const locks = await clientOf(server.url, 'one')
    await locks.getLock('order:1').acquire({ leaseMs: 60_000 })
    await server.command('PERSIST', 'order:1')
    await server.command('HSET', 'not-a-lock', 'field', 'value')
    expect(await found(server.url)).toEqual(['warning no-end'])
  })

  it('14 a lock that is used in two ways at once', async () => {
    const { url } = await serverWith()
    const [one, other] = [await clientOf(url, 'one'), await clientOf(url, 'other')]
    await one.getFairLock('order:1').acquire()
    const enough = new AbortController()
    const { signal } = enough
    const waits = [other.getFairLock('order:1'), other.getLock('order:1')].map((lock) =>
      lock.acquire({ signal }),
    )
    await until(async () => (await found(url)).join() === 'error mixed-use')
    enough.abort()
    await Promise.allSettled(waits)
  })

  it('15 connections that run out, 16 that are closed when idle, 17 listeners that are cut off', async () => {
    const server = await serverWith([...KEPT, '--timeout', '5'])
    expect(await found(server.url)).toEqual(['warning idle-connections'])
    await server.command('CONFIG', 'SET', 'timeout', '0')
    await server.command('CONFIG', 'SET', 'client-output-buffer-limit', 'pubsub 65536 0 0')
    expect(await found(server.url)).toEqual(['warning message-buffers'])
    await server.command('CONFIG', 'SET', 'client-output-buffer-limit', 'pubsub 33554432 8388608 60')
    for (let i = 0; i < 60; i += 1) {
      const other = connect(server.port, server.host)
      after.push(() => other.destroy())
      await once(other, 'connect')
    }
    await until(async () => /connected_clients:6[1-9]/.test(String(await server.command('INFO', 'clients'))))
    await server.command('CONFIG', 'SET', 'maxclients', '67')
    expect(await found(server.url)).toEqual(['warning connections'])
  })

  it('says what it could not look at, where CONFIG is not permitted', async () => {
    const url = await urlWithRights('&*', '+@all', '-config', '-slowlog')
    const { code, stderr } = await holdfast(['--url', url, 'doctor'])
    expect(code).toBe(0)
    expect(stderr).toMatch(/not checked: CONFIG GET of .* \(NOPERM/)
    expect(stderr).not.toContain('secret')
  })

  it('without a server: 69', async () => {
    expect((await holdfast(['--url', 'redis://127.0.0.1:1', '--timeout', '1s', 'doctor'])).code).toBe(69)
  })
})
