import { afterEach, describe, expect, it } from '@jest/globals'
import { RedisCluster, RedisSentinels, RedisServer } from '@holdfast/faults/harness'
import { useTlsRig } from '../../../core/test/redis/support/tls-rig.js'
import { Connection } from '../../src/connection.js'
import { CommandLine } from './support/command-line.js'
import { holdfast } from './support/in-process.js'

const { tlsPort, certFile } = await useTlsRig()

const after: (() => unknown)[] = []
afterEach(async () => {
  for (const end of after.splice(0).reverse()) await end()
})

/** Holds a lock by `run`, sees and breaks it, and asks for what endangers it. */
const tour = async (url: string, ...where: string[]): Promise<string[]> => {
  const command = ['sh', '-c', 'echo inside; while :; do sleep 0.05; done']
  const cli = CommandLine.start(url, [...where, 'run', 'order:42', '--', ...command])
  await cli.printed(/inside/)
  const args = ['--url', url, ...where]
  const listed = await holdfast([...args, 'ls', 'order:*', '--json'])
  const { locks } = JSON.parse(listed.stdout) as { locks: { name: string; holders: { holder: string }[] }[] }
  const [lock] = locks
  const broken = await holdfast([...args, 'break', 'order:42', '--holder', lock!.holders[0]!.holder, '--yes'])
  expect(await cli.ended).toBe(76)
  expect((await holdfast([...args, 'who', 'order:42'])).code).toBe(1)
  return [...locks.map(({ name }) => name), `${broken.code}`]
}

describe('where Redis is', () => {
  it('a cluster, by one of its nodes', async () => {
    // A machine that is busy makes commands slow that are not.
    const cluster = await RedisCluster.start({ args: ['--slowlog-log-slower-than', '-1'] })
    after.push(() => cluster.stop())
    expect(await tour(cluster.nodes[0]!.url, '--cluster')).toEqual(['order:42', '0'])
    const { code, stdout } = await holdfast(['--url', cluster.nodes[0]!.url, '--cluster', 'doctor', '--json'])
    const { findings } = JSON.parse(stdout) as { findings: { id: string }[] }
    // Each primary is looked at; those of the harness keep nothing.
    expect(code).toBe(1)
    expect([...new Set(findings.map(({ id }) => id))]).toEqual(['persistence', 'replicas-unacknowledged'])
    expect(findings.length).toBeGreaterThan(1)
  })

  it('the primary behind Sentinels', async () => {
    const group = await RedisSentinels.start()
    after.push(() => group.stop())
    const sentinels = group.sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')
    const where = ['--sentinel', sentinels, '--master', group.name]
    expect(await tour('redis://127.0.0.1:1', ...where)).toEqual(['order:42', '0'])
  })

  it('Sentinels with a user and a password of their own', async () => {
    const group = await RedisSentinels.start({ sentinels: 1 })
    after.push(() => group.stop())
    const [sentinel] = group.sentinels
    await sentinel!.command('ACL', 'SETUSER', 'looks', 'on', '>for primaries', '~*', '&*', '+@all')
    await sentinel!.command('ACL', 'SETUSER', 'default', 'resetpass', '>of nobody else')
    const where = ['--sentinel', `127.0.0.1:${sentinel!.port}`, '--master', group.name, '--timeout', '20s']
    const who = (user: string[], env = {}) =>
      holdfast(['--url', 'redis://127.0.0.1:1', ...where, ...user, 'who', 'a'], { env })
    const password = { HOLDFAST_SENTINEL_PASSWORD: 'for primaries' }
    expect(await who(['--sentinel-user', 'looks'], password)).toMatchObject({ code: 1 })
    expect(await who(['--sentinel-password', 'of nobody else'])).toMatchObject({ code: 1 })
    expect(await who(['--sentinel-password', 'a guess', '--timeout', '1s'])).toMatchObject({ code: 69 })
  })

  it.each([
    ['redis://app:p@ss@word@127.0.0.1:7000/3?x=secret', false, 'redis://127.0.0.1:7000/3'],
    ['redis://:a,b@127.0.0.1:7000', false, 'redis://127.0.0.1:7000'],
    ['redis://u:p@a:1,redis://u:p@b:2', true, 'redis://a:1,redis://b:2'],
  ])('%s is shown without what is secret in it', (url, cluster, shown) => {
    expect(new Connection({ url, cluster, timeout: 1_000 }).described).toBe(shown)
  })

  it('with TLS: the certificates that are trusted, or any', async () => {
    const url = `rediss://127.0.0.1:${tlsPort}`
    expect(await tour(url, '--ca', certFile)).toEqual(['order:42', '0'])
    expect((await holdfast(['--url', url, '--insecure', 'ls'])).code).toBe(0)
    const refused = await holdfast(['--url', url, '--timeout', '5s', 'ls'])
    expect(refused.code).toBe(69)
    expect(refused.stderr).toContain('self-signed certificate')
  })

  it('REDIS_URL, a user with a password, a database, a prefix', async () => {
    const server = await RedisServer.start()
    after.push(() => server.stop())
    await server.command('ACL', 'SETUSER', 'app', 'on', '>p@ss/word', '~*', '&*', '+@all')
    const env = { REDIS_URL: `redis://app:p%40ss%2Fword@127.0.0.1:${server.port}/3` }
    const code = await holdfast(['--key-prefix', 'shop:', 'who', 'order:42'], { env })
    expect(code).toMatchObject({ code: 1 })
    const wrong = await holdfast(['who', 'order:42'], {
      env: { REDIS_URL: env.REDIS_URL.replace('word', 'wrong') },
    })
    expect(wrong.code).toBe(69)
    expect(wrong.stderr).toContain('WRONGPASS')
    expect(wrong.stderr).not.toContain('wrong@')
  })

  it.each([
    [['--url', 'http://127.0.0.1'], 'redis://user'],
    [['--url', 'redis://127.0.0.1/zero'], 'number of a database'],
    [['--cluster', '--sentinel', '127.0.0.1:1'], 'exclude each other'],
    [['--ca', '/nowhere'], 'rediss://'],
    [['--url', 'rediss://127.0.0.1', '--ca', '/nowhere'], 'ENOENT'],
    [['--timeout', 'long'], 'duration'],
    [['--timeout', '0'], '--timeout'],
    [['--master', 'prices'], 'with --sentinel'],
  ])('%j cannot be meant: 64', async (args, says) => {
    const { code, stderr } = await holdfast([...args, 'ls'])
    expect({ code, stderr }).toMatchObject({ code: 64, stderr: expect.stringContaining(says) as unknown })
  })
})
