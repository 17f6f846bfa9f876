import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { LockClient } from '@holdfast/core'
import { observe } from '@holdfast/core/observe'
import { RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { holdfast } from './support/in-process.js'

let server: RedisServer
let redis: Redis
let ours: LockClient
beforeAll(async () => {
  server = await RedisServer.start({ args: ['--appendonly', 'yes'] })
  redis = new Redis(server.url)
})
beforeEach(async () => {
  ours = await LockClient.connect(server.url, { foreignLocks: 'wait', clientName: 'orders' })
  ours.on('lost', () => undefined)
})
afterEach(async () => {
  await ours.close({ graceMs: 0 })
  await redis.flushall()
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

/** The answers about a name. */
type Answer = 'free' | 'ours' | 'string' | 'no lock'
interface Thing {
  readonly what: string
  readonly answer: Answer
  /** Whether a search takes it for a lock. */
  readonly isListed: boolean
  readonly put: (name: string) => Promise<unknown>
}

const UUID = 'd377955e-6621-426c-82ec-1b44a3c31d9c'
const OWNER = 'java:42'
const thing = (what: string, answer: Answer, isListed: boolean, put: Thing['put']): Thing => ({
  ...{ what, answer, isListed, put },
})

/** The strings of the libraries in docs/beside-other-locks.md, and whether a search takes them for a lock. */
const TEXTS: readonly (readonly [library: string, text: string | Buffer, looksRandom: boolean])[] = [
  ['redis-py', '35931664ea0c11f1820b02fc00000001', true],
  ['python-redis-lock', 'pPq0u3cBqUeDzRk1bW7n0w==', true],
  ['pottery', UUID, true],
  ['walrus', Buffer.from('00ff80c3289d1b0a410d0022275c7f'.repeat(2), 'hex'), false],
  ['python-redilock', `_LOCK:order:42:${'a'.repeat(32)}`, false],
  ['redis-fifo-lock', 'worker-1:17', false],
  ['huey', Buffer.from('80049505000000000000008c0131942e', 'hex'), false],
  ['rq-scheduler', '1795747623.118', false],
  ['dramatiq', '0', false],
  ['redis-semaphore of Python', 'ok', false],
  ['verrou', 'f4m4gh99ple', false],
  ['simple-redis-mutex', '0.7029116417430247', false],
  ['redis-lock of npm', '1795747623118', false],
  ['medusa, of nobody', '*', false],
  ['medusa, execute', `execute:${UUID}`, false],
  ['chat-adapter', 'redis_1795747623118_4f3a', true],
  ['bullmq', `${UUID}:0`, false],
  ['redis-lock of Rust', '{"holder":"a","resources":["order:42"]}', false],
  ['ShedLock', `ADDED:2026-11-27T02:55:35.375Z@vm:${UUID}`, false],
  ['JetCache', Buffer.from('4a000000c9aced0005737200', 'hex'), false],
  ['nobody, empty', '', false],
  ['somebody, 500 bytes', 'x'.repeat(500), false],
  ['an enemy', '\u001B[2J\nfree\r', false],
  ['somebody, like an owner', OWNER, false],
]

const set =
  (text: string | Buffer, ttlMs?: number): Thing['put'] =>
  (name) =>
    ttlMs === undefined ? redis.set(name, text) : redis.set(name, text, 'PX', ttlMs)
const hash =
  (fields: Record<string, string>, ttlMs?: number): Thing['put'] =>
  async (name) => {
    await redis.hset(name, fields)
    if (ttlMs !== undefined) await redis.pexpire(name, ttlMs)
  }
const READERS = Object.fromEntries(Array.from({ length: 1_500 }, (_, i) => [`java:${i}`, '1']))

const THINGS: readonly Thing[] = [
  thing('nothing', 'free', false, () => Promise.resolve()),
  ...TEXTS.flatMap(([library, text, looksRandom]) => [
    thing(`a string of ${library}`, 'string', looksRandom, set(text, 60_000)),
    thing(`a string of ${library} without a time to live`, 'string', false, set(text)),
  ]),
  thing('permits', 'string', false, (name) => ours.getSemaphore(name).trySetPermits(3)),
  thing('permits with a lease', 'string', false, (name) =>
    ours.getPermitExpirableSemaphore(name).trySetPermits(3),
  ),
  thing('a latch', 'string', false, (name) => ours.getCountDownLatch(name).trySetCount(2)),
  thing('a list', 'no lock', false, (name) => redis.rpush(name, 'a')),
  thing('a set', 'no lock', false, (name) => redis.sadd(name, 'a')),
  thing('the sorted set of symfony/lock', 'no lock', false, (name) =>
    redis.zadd(name, Date.now() + 60_000, 'token', Date.now() + 60_000, '__write__'),
  ),
  thing('a stream', 'no lock', false, (name) => redis.xadd(name, '*', 'a', '1')),
  thing('a hyperloglog', 'string', false, (name) => redis.pfadd(name, 'a')),
  thing('an entity', 'no lock', false, hash({ status: 'paid', total: '7' })),
  thing('an entity of one field', 'no lock', false, hash({ status: 'paid' }, 60_000)),
  thing('a counter', 'no lock', false, hash({ views: '12' }, 60_000)),
  thing('a hash of redishilok', 'no lock', false, hash({ writer: UUID }, 60_000)),
  thing('an owner with no count', 'no lock', false, hash({ [OWNER]: 'x' }, 60_000)),
  thing('two owners', 'no lock', false, hash({ [OWNER]: '1', 'java:43': '1' }, 60_000)),
  thing('a mode of others', 'no lock', false, hash({ mode: 'dark', [OWNER]: '1' }, 60_000)),
  thing('a lock of Redisson', 'ours', true, hash({ [OWNER]: '2' }, 60_000)),
  thing('a lock without a time to live', 'ours', false, hash({ [OWNER]: '1' })),
  thing('1,500 readers', 'ours', false, hash({ mode: 'read', ...READERS }, 60_000)),
  thing('the mode of readers that have ended', 'free', false, hash({ mode: 'read' }, 60_000)),
  thing('the mode of a writer that has ended', 'free', false, hash({ mode: 'write' }, 60_000)),
  thing('a plain lock', 'ours', true, (name) => ours.getLock(name).acquire()),
  thing('a fair lock', 'ours', true, (name) => ours.getFairLock(name).acquire()),
  thing('a fenced lock', 'ours', true, (name) => ours.getFencedLock(name).acquire()),
  thing('a spin lock', 'ours', true, (name) => ours.getSpinLock(name).acquire()),
  thing('a non-reentrant lock', 'ours', true, (name) => ours.getNonReentrantLock(name).acquire()),
  thing('a non-reentrant fair lock', 'ours', true, (name) => ours.getNonReentrantFairLock(name).acquire()),
  thing('a read lock', 'ours', true, (name) => ours.getReadWriteLock(name).readLock().acquire()),
  thing('a write lock', 'ours', true, (name) => ours.getReadWriteLock(name).writeLock().acquire()),
]

const NAME = 'order:42'
const cli = (args: readonly string[], url = server.url) => holdfast(['--url', url, ...args])
const watched = ['watch', NAME, '--for', '1ms']
const outcome = (call: Promise<unknown>): Promise<unknown> =>
  call.catch((error: unknown) => (error as { code: string }).code)

/** The codes of who, watch and break, what watch prints, isLocked(), and whether inspect() and ask() find holders. */
const EXPECTED: Record<Answer, readonly [who: number, watch: number, broken: number, locked: unknown]> = {
  free: [1, 0, 1, false],
  string: [0, 0, 65, true],
  'no lock': [65, 65, 65, 'WRONG_TYPE'],
  ours: [0, 0, 0, true],
}

describe('who, watch, break, isLocked(), inspect() and ask() agree, and nothing of others is touched', () => {
  it.each(THINGS)('$what: $answer', async ({ answer, put }) => {
    await put(NAME)
    const before = await redis.dump(NAME)
    const [who, watch, broken, locked] = EXPECTED[answer]
    const said = await cli(['who', NAME])
    const seen = await cli(watched)
    expect([said.code, seen.code]).toEqual([who, watch])
    const lock = ours.getLock(NAME)
    expect(await outcome(lock.isLocked())).toBe(locked)
    for (const question of [
      () => lock.inspect(),
      () => ours.getReadWriteLock(NAME).inspect(),
      () => observe(ours).ask(NAME),
    ]) {
      const found = (await outcome(question())) as { holders: { holds: number; foreign?: true }[] } | null
      expect(locked === true ? Number.isInteger(found?.holders[0]?.holds) : (found ?? false)).toBe(locked)
      expect((locked === true ? found : null)?.holders[0]?.foreign).toBe(
        answer === 'string' ? true : undefined,
      )
    }
    for (const text of [said.stdout, seen.stdout]) {
      expect(/ is free\n$/.test(text)).toBe(answer === 'free')
      expect(text.includes('held by a string "')).toBe(answer === 'string')
    }
    // Where readers are many, one of them has to be named.
    const [holder] = answer === 'ours' ? (await observe(ours).ask(NAME))!.holders : []
    const rest = holder ? ['--holder', holder.owner] : []
    const { code, stdout, stderr } = await cli(['break', NAME, '--yes', ...rest])
    expect([code, stdout + stderr]).toEqual([broken, expect.stringContaining(NAME)])
    if (answer !== 'ours') expect(await redis.dump(NAME)).toEqual(before)
  })

  it('break asks nobody about a string, and takes no holder for it', async () => {
    await redis.set(NAME, '')
    for (const rest of [[], ['--holder', 'x'], ['--holder', 'java:1', '--yes']])
      expect(await cli(['break', NAME, ...rest])).toMatchObject({ code: 65 })
  })

  it.each(['who', 'watch', 'break'])('%s of no name: 64', async (command) => {
    expect(await cli([command, ''])).toMatchObject({ code: 64, stderr: expect.stringContaining('name') })
  })

  it('watch tells when a string comes and goes, and ends where something else has the name', async () => {
    await redis.set(NAME, 'f4m4gh99ple')
    const watching = cli(['watch', NAME, '--every', '20ms', '--for', '20s', '--json'])
    await redis.multi().del(NAME).rpush(NAME, 'a').exec()
    const { code, stderr } = await watching
    expect([code, stderr]).toEqual([65, expect.stringContaining('"WRONG_TYPE"')])
  })
})

describe('a user who may not read all keys of a lock is told so, never that it is free', () => {
  const RULES = { user: ['on', '>pass', '+@all', '&*'], all: ['~*'] }
  it.each([
    ['the name', ['~app:*', '~holdfast:*']],
    ['the token counter', ['~order:*', '~holdfast:*']],
    ['the note', ['~order:*', '~redisson*']],
    ['the commands for a hash', [...RULES.all, '-hlen']],
    ['the commands for a string', [...RULES.all, '-type']],
  ])('%s', async (what, rules) => {
    if (what.endsWith('a string')) await redis.set(NAME, 'f4m4gh99ple')
    else await ours.getLock(NAME).acquire()
    await redis.call('ACL', 'SETUSER', 'app', 'reset', ...RULES.user, ...rules)
    const url = server.url.replace('redis://', 'redis://app:pass@')
    for (const args of [['who', NAME], watched, ['break', NAME, '--yes']]) {
      const { code, stdout, stderr } = await cli(args, url)
      expect([code, stdout, stderr]).toEqual([69, '', expect.stringMatching(/permission|can't run|ACL/)])
    }
    // A search leaves out what its user may not read.
    expect((await cli(['ls'], url)).code).toBe(0)
    expect(await redis.exists(NAME)).toBe(1)
  })
})

describe('a search', () => {
  it('ls and top take for a lock what has a time to live and looks like one; doctor finds the lock without', async () => {
    const names = THINGS.map(({ what }) => `thing:${what}`)
    for (const [i, { put }] of THINGS.entries()) await put(names[i]!)
    const listed = names.filter((_, i) => THINGS[i]!.isListed).sort()
    const { locks } = JSON.parse((await cli(['ls', 'thing:*', '--json'])).stdout) as {
      locks: { name: string }[]
    }
    expect(locks.map(({ name }) => name).sort()).toEqual(listed)
    const top = (await cli(['top', 'thing:*', '--for', '1ms', '--json'])).stdout
    expect(JSON.parse(top)).toMatchObject({ held: listed.length })
    const { stdout } = await cli(['doctor', '--json'])
    const { findings } = JSON.parse(stdout) as { findings: { id: string; found: string }[] }
    const [endless] = findings.filter(({ id }) => id === 'no-end')
    expect(endless?.found).toMatch(/^thing:a lock without a time to live would be held/)
  })
})
