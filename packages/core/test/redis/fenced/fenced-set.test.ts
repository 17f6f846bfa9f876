import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Redis } from 'ioredis'
import { fencedSet, InvalidArgumentError } from '../../../src/index.js'
import { scriptingOf } from '../../../src/redis/scripting.js'
import { setFenced, setFencedScript } from '../../../src/scripts/fenced-value.js'
import { runsOf } from '../support/requests.js'
import { signalled, soon, useRig } from '../support/rig.js'

const KEY = 'order:42:state'
const HUGE = '123456789012345678901234567890'

const rig = useRig()
let redis: Redis

beforeEach(() => {
  redis = rig.connection()
  rig.atEnd(() => rig.admin.del(KEY))
})

const write = (token: string, value: string, pxMs?: number) =>
  fencedSet(redis, { key: KEY, token, value, pxMs })
const value = () => rig.admin.hget(KEY, 'value')

describe('a guarded write', () => {
  it('is one hash at the key: value, token, and whose how-manieth write it was', async () => {
    expect(await write('7', 'packed')).toEqual({ accepted: true, highestToken: '7' })
    expect(await rig.contents()).toEqual({
      [KEY]: {
        type: 'hash',
        value: {
          token: '7',
          value: 'packed',
          writer: expect.stringMatching(/^[\w-]{21}$/),
          sequence: expect.stringMatching(/^\d+$/),
        },
      },
    })
  })

  it('with a smaller token is refused and changes nothing; with an equal or larger one it is accepted', async () => {
    expect(await write('7', 'seven')).toEqual({ accepted: true, highestToken: '7' })
    const before = await rig.admin.hgetall(KEY)
    expect(await write('6', 'six')).toEqual({ accepted: false, highestToken: '7' })
    expect(await write('0', 'zero', 1_000)).toEqual({ accepted: false, highestToken: '7' })
    expect(await rig.admin.hgetall(KEY)).toEqual(before)
    expect(await rig.admin.pttl(KEY)).toBe(-1)
    expect(await write('7', 'seven again')).toEqual({ accepted: true, highestToken: '7' })
    expect(await value()).toBe('seven again')
    expect(await write('8', 'eight')).toEqual({ accepted: true, highestToken: '8' })
    expect(await write('7', 'late')).toEqual({ accepted: false, highestToken: '8' })
    expect(await value()).toBe('eight')
  })

  it.each([
    ['9', '10'],
    ['99', '100'],
    ['9007199254740992', '9007199254740993'],
    ['9223372036854775807', '9223372036854775808'],
    ['99999999999999999999', HUGE],
    [HUGE, '123456789012345678901234567891'],
  ])('compares numbers of any length: %s is smaller than %s', async (smaller, larger) => {
    expect(await write(smaller, 'first')).toEqual({ accepted: true, highestToken: smaller })
    expect(await write(larger, 'second')).toEqual({ accepted: true, highestToken: larger })
    expect(await write(smaller, 'third')).toEqual({ accepted: false, highestToken: larger })
    expect(await value()).toBe('second')
  })

  it('keeps any text as it is, from the empty one on', async () => {
    for (const text of ['', 'größe 🔒', '\u0000', 'a\nb', '"\\', 'x'.repeat(100_000)]) {
      expect((await write('1', text)).accepted).toBe(true)
      expect(await value()).toBe(text)
    }
  })

  it('has the lifetime that it asks for, and without one no end, as SET', async () => {
    await write('1', 'a', 90_000)
    await rig.expectTtl(KEY, 90_000)
    await write('1', 'b')
    expect(await rig.admin.pttl(KEY)).toBe(-1)
  })

  it("has the client's keyPrefix, works through a flushed script cache and in a pipeline of many", async () => {
    const prefixed = rig.connection({ keyPrefix: 'app:', enableAutoPipelining: true })
    await rig.admin.script('FLUSH')
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, i) => fencedSet(prefixed, { key: KEY, token: '3', value: `${i}` })),
    )
    expect(results).toEqual(results.map(() => ({ accepted: true, highestToken: '3' })))
    expect(await rig.admin.hget(`app:${KEY}`, 'value')).toBe('49')
    await rig.admin.del(`app:${KEY}`)
  })
})

describe('a write that runs twice', () => {
  it('a write that runs twice whose reply is lost is accepted once, and its value stands', async () => {
    const proxy = await rig.proxy()
    redis = rig.connection({}, proxy)
    const fault = proxy.loseReply(runsOf(setFencedScript))
    expect(await soon(write('5', 'once'))).toEqual({ accepted: true, highestToken: '5' })
    expect(fault.count).toBe(1)
    expect(await value()).toBe('once')
  })

  it('late, after another of the same holder, does not bring the old value back', async () => {
    const proxy = await rig.proxy()
    redis = rig.connection({}, proxy)
    const isLate = signalled()
    const copy = proxy.copyLate(runsOf(setFencedScript), isLate.promise)
    await write('5', 'first')
    await write('5', 'second')
    isLate.resolve()
    await soon(copy.happened)
    expect(await value()).toBe('second')
  })

  it('late, after the next holder wrote, is refused', async () => {
    const proxy = await rig.proxy()
    redis = rig.connection({}, proxy)
    const isLate = signalled()
    const copy = proxy.copyLate(runsOf(setFencedScript), isLate.promise)
    await write('5', 'old')
    await write('6', 'new')
    isLate.resolve()
    await soon(copy.happened)
    expect(await rig.admin.hmget(KEY, 'token', 'value')).toEqual(['6', 'new'])
  })

  it('counts by its writer: another process under the same token is not taken for a copy', async () => {
    const as = (writer: string, sequence: number, text: string) =>
      setFenced(scriptingOf(redis)!, {
        key: KEY,
        token: '5',
        value: text,
        ttlMs: undefined,
        writer,
        sequence,
      })
    await as('one', 9, 'of one')
    expect(await as('two', 1, 'of two')).toEqual({ accepted: true, highestToken: '5' })
    expect(await value()).toBe('of two')
    expect(await as('two', 1, 'a copy')).toEqual({ accepted: true, highestToken: '5' })
    expect(await value()).toBe('of two')
  })
})

describe('what is refused otherwise', () => {
  it.each([
    ['text', () => rig.admin.set(KEY, 'mine')],
    ['a hash of somebody else', () => rig.admin.hset(KEY, 'name', 'mine')],
    ['a hash with fields of those names', () => rig.admin.hset(KEY, 'token', 'Ring', 'writer', 'Tolkien')],
  ])('a key that holds %s: WRONGTYPE, and nothing is changed', async (_what, put) => {
    await put()
    const before = await rig.admin.dumpBuffer(KEY)
    await expect(write('1', 'x')).rejects.toThrow(/(^|: )WRONGTYPE /)
    expect(await rig.admin.dumpBuffer(KEY)).toEqual(before)
  })

  it('out of memory: the error of Redis, and the old value', async () => {
    await write('1', 'old')
    await rig.outOfMemory(() => expect(write('2', 'new', 1_000)).rejects.toThrow(/OOM/))
    expect(await rig.admin.hmget(KEY, 'token', 'value')).toEqual(['1', 'old'])
    expect(await rig.admin.pttl(KEY)).toBe(-1)
  })

  it.each([
    ['redis', null, {}],
    ['redis', {}, {}],
    ['key', 'redis', { key: '' }],
    ['key', 'redis', { key: 42 }],
    ['token', 'redis', { token: undefined }],
    ['token', 'redis', { token: 7 }],
    ['token', 'redis', { token: '' }],
    ['token', 'redis', { token: '07' }],
    ['token', 'redis', { token: '-7' }],
    ['token', 'redis', { token: '7\n' }],
    ['token', 'redis', { token: '1e3' }],
    ['value', 'redis', { value: { state: 'packed' } }],
    ['pxMs', 'redis', { pxMs: 0 }],
    ['pxMs', 'redis', { pxMs: 1.5 }],
    ['write', 'redis', { px: 5 }],
  ])('a bad %s (%p, %p): InvalidArgumentError, and nothing is sent', async (argument, target, change) => {
    const given = target === 'redis' ? redis : (target as unknown as Redis)
    const write = { key: KEY, token: '1', value: 'x', ...change } as Parameters<typeof fencedSet>[1]
    const failure = await fencedSet(given, write).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(InvalidArgumentError)
    expect(failure).toMatchObject({ argument })
    await expect(fencedSet(redis, null as never)).rejects.toMatchObject({ argument: 'write' })
    expect(await rig.contents()).toEqual({})
  })
})
