import { describe, expect, it } from '@jest/globals'
import { InvalidArgumentError, type LockClient } from '../../../src/index.js'
import { getShare, type ShareCodec, type ShareOptions } from '../../../src/entries/share/index.js'
import { eventually, own, sleep, soon, useRig } from '../support/rig.js'
import { never, running, Work } from '../support/shared-work.js'

const LOCK = 'share:pages:a'
const KEPT = `holdfast:share:{${LOCK}}`
const LONG_MS = 60_000
const rig = useRig()
const one = own(() => rig.client())
const other = own(() => rig.client())

const pages = <T = unknown>(locks: LockClient, options: ShareOptions<T> = {}) =>
  getShare<T>(locks, 'pages', options)
/** So many clients wait for the run under way. */
const waiting = (count: number) => rig.heard(LOCK, count)
/** How many scripts have run since the last `resetStats`. */
const scripts = async () => (await rig.server.commandStats()).get('evalsha')
/** Makes the kept result older: it is fresh no more, and served for another minute. */
const age = (): Promise<unknown> => rig.admin.hset(KEPT, 'fresh', '0')

describe('a kept result', () => {
  it('counts for callers of all processes within keepMs, and says its age', async () => {
    expect(await pages(one, { keepMs: LONG_MS }).run('a', () => 'first')).toBe('first')
    await rig.admin.hset(KEPT, 'stored', `${Date.now() - 5_000} v"first"`)
    const kept = await pages(other, { keepMs: LONG_MS }).runForResult('a', never)
    expect(kept).toMatchObject({ value: 'first', source: 'kept' })
    expect(kept.ageMs).toBeGreaterThanOrEqual(5_000)
    expect(kept.ageMs).toBeLessThan(20_000)
    expect(await rig.admin.pttl(KEPT)).toBeLessThanOrEqual(LONG_MS)
  })

  it('is too old for a share that keeps for less', async () => {
    await pages(one, { keepMs: LONG_MS }).run('a', () => 'first')
    await rig.admin.hset(KEPT, 'stored', `${Date.now() - 5_000} v"first"`)
    expect(await pages(other, { keepMs: 1_000 }).run('a', () => 'second')).toBe('second')
    expect(await pages(one).run('a', () => 'third')).toBe('third')
  })

  it('is kept for as long as a function of it says', async () => {
    const share = pages<{ expiresIn: number }>(one, { keepMs: ({ expiresIn }) => expiresIn * 1_000 - 500.5 })
    await share.run('a', () => ({ expiresIn: 30 }))
    const left = await rig.admin.pttl(KEPT)
    expect(left).toBeGreaterThan(20_000)
    expect(left).toBeLessThanOrEqual(29_500)
    expect(await share.run('a', never)).toEqual({ expiresIn: 30 })
    await share.invalidate('a')
    const wrong = share.run('a', () => ({ expiresIn: -1 }))
    await expect(wrong).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'keepMs' })
  })

  it('is not one that failed', async () => {
    const share = pages(one, { keepMs: LONG_MS })
    await expect(share.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await share.run('a', () => 'yes')).toBe('yes')
  })

  it('is forgotten by invalidate, which other shares of the name see', async () => {
    const share = pages(one, { keepMs: LONG_MS })
    await share.run('a', () => 'first')
    await pages(other).invalidate('a')
    expect(await share.run('a', () => 'second')).toBe('second')
  })

  it('is not the result of a run that was invalidated: that reaches those who wait for it alone', async () => {
    const [mine, theirs] = [pages(one, { keepMs: LONG_MS }), pages(other, { keepMs: LONG_MS })]
    const { work, first } = await running(mine, 'a')
    const joined = mine.run('a', never)
    await mine.invalidate('a')
    const later = [mine.run('a', () => 'second'), theirs.run('a', () => 'second')]
    await waiting(2)
    work.succeed('first')
    expect(await soon(Promise.all([first, joined]))).toEqual(['first', 'first'])
    expect(await soon(Promise.all(later))).toEqual(['second', 'second'])
    expect(await theirs.run('a', never)).toBe('second')
  })
})

describe('invalidate, to a call that comes after it in another process (I14)', () => {
  it.each([0, LONG_MS])(
    'gives no result of the run under way that its process waits for, keepMs %d',
    async (keepMs) => {
      const third = await rig.client()
      const [mine, theirs] = [pages(one, { keepMs }), pages(other, { keepMs })]
      const { work, first } = await running(mine, 'a')
      const before = theirs.run('a', never)
      await waiting(1)
      await pages(third).invalidate('a')
      const after = theirs.run('a', () => 'second')
      work.succeed('first')
      expect(await soon(Promise.all([first, before, after]))).toEqual(['first', 'first', 'second'])
    },
  )

  it('gives none of the run under way in its own process', async () => {
    const mine = pages(one, { keepMs: LONG_MS })
    const { work, first } = await running(mine, 'a')
    await pages(other).invalidate('a')
    const after = mine.run('a', () => 'second')
    work.succeed('first')
    expect(await soon(Promise.all([first, after]))).toEqual(['first', 'second'])
  })

  it('gives no error of such a run either', async () => {
    const mine = pages(one)
    const { work, first } = await running(mine, 'a')
    await pages(other).invalidate('a')
    const after = mine.run('a', () => 'second')
    work.fail(new Error('no'))
    await expect(first).rejects.toThrow('no')
    expect(await soon(after)).toBe('second')
  })

  it('gives no older result that its process is replacing', async () => {
    const mine = pages(one, { keepMs: LONG_MS, staleMs: LONG_MS })
    await mine.run('a', () => 'first')
    await age()
    const work = new Work<string>()
    expect(await mine.run('a', work.task)).toBe('first')
    await work.untilRunning()
    await pages(other).invalidate('a')
    const after = mine.run('a', () => 'third')
    await waiting(1)
    work.succeed('second')
    expect(await soon(after)).toBe('third')
  })

  it('costs callers of one run nothing: whoever joins it sends no command', async () => {
    // No tick, which would be a look more.
    const untold = { resyncInterval: 60_000 }
    const [mine, theirs] = [pages(await rig.client(untold)), pages(await rig.client(untold))]
    const { work, first } = await running(mine, 'a')
    await rig.server.resetStats()
    const before = theirs.run('a', never)
    // It looks once more when it is subscribed.
    await eventually(async () => (await scripts()) === 2)
    await rig.server.resetStats()
    const joined = [
      mine.run('a', never),
      theirs.run('a', never),
      mine.run('a', never),
      theirs.run('a', never),
    ]
    work.succeed('first')
    expect(await soon(Promise.all([first, before, ...joined]))).toEqual(
      Array.from({ length: 6 }, () => 'first'),
    )
    // The end of the run, and one fetch for all who wait in the other process.
    expect(await scripts()).toBe(2)
  })
})

describe('an older result', () => {
  const options = { keepMs: LONG_MS, staleMs: LONG_MS }

  it('is served at once to all, while one caller makes a newer one', async () => {
    const [mine, theirs] = [pages(one, options), pages(other, options)]
    await mine.run('a', () => 'first')
    await age()
    const work = new Work<string>()
    expect(await soon(mine.runForResult('a', work.task))).toMatchObject({ value: 'first', source: 'stale' })
    await work.untilRunning()
    expect(await soon(mine.runForResult('a', never))).toMatchObject({ value: 'first', source: 'stale' })
    expect(await soon(theirs.runForResult('a', never))).toMatchObject({ value: 'first', source: 'stale' })
    work.succeed('second')
    await eventually(async () => (await theirs.run('a', never)) === 'second')
  })

  it('goes on to be served when the newer one fails, and somebody is told', async () => {
    const told: unknown[] = []
    const share = pages(one, { ...options, onRefreshError: (...given) => told.push(given) })
    await share.run('a', () => 'first')
    await age()
    const error = new Error('no')
    expect(await share.run('a', () => Promise.reject(error))).toBe('first')
    await eventually(() => told.length === 1)
    expect(told).toEqual([[error, 'a']])
    expect(await share.run('a', () => 'second')).toBe('first')
    await eventually(async () => (await share.run('a', () => 'second')) === 'second')
  })

  it('is served by no run when it is too old for the caller', async () => {
    await pages(one, options).run('a', () => 'first')
    await age()
    expect(
      await pages(other, { keepMs: LONG_MS, staleMs: 0 })
        .run('a', never)
        .catch(() => 'ran'),
    ).toBe('first')
    await rig.admin.hset(KEPT, 'usable', '0')
    expect(await pages(other, options).run('a', () => 'second')).toBe('second')
  })
})

describe('what is stored', () => {
  it('is what a codec makes of it, and all get what it reads', async () => {
    const codec: ShareCodec<Date> = {
      encode: (date) => Promise.resolve(`sealed:${Buffer.from(date.toISOString()).toString('base64')}`),
      decode: (text) => Promise.resolve(new Date(Buffer.from(text.slice(7), 'base64').toString())),
    }
    const share = pages<Date>(one, { keepMs: LONG_MS, codec })
    const date = await share.run('a', () => new Date(42))
    expect(date).toEqual(new Date(42))
    expect(await rig.admin.hget(KEPT, 'stored')).toMatch(/^\d+ vsealed:[\w=]+$/)
    expect(await pages<Date>(other, { keepMs: LONG_MS, codec }).run('a', never)).toEqual(new Date(42))
  })

  it('is JSON otherwise, for the caller that ran too, and nothing for undefined', async () => {
    const share = pages(one)
    expect(await share.run('a', () => ({ at: new Date(0), gone: undefined }))).toEqual({
      at: '1970-01-01T00:00:00.000Z',
    })
    const nothing: unknown = await share.run<unknown>('a', () => undefined)
    expect(nothing).toBeUndefined()
    expect(await share.run('a', () => null)).toBeNull()
  })

  it('is refused where it is too long or cannot be encoded, without the value in the error', async () => {
    const share = pages(one, { maxBytes: 12, keepMs: LONG_MS })
    expect(await share.run('a', () => '1234567890')).toBe('1234567890')
    await share.invalidate('a')
    const long = share.run('a', () => 'äöüäöü')
    await expect(long).rejects.toThrow(InvalidArgumentError)
    await expect(long).rejects.toMatchObject({ argument: 'result', value: 14 })
    await expect(long).rejects.toThrow(/at most 12 bytes once encoded \(maxBytes\), and has 14/)
    const others = pages(one)
    for (const value of [1n, () => 1, Symbol('s')]) {
      const call = others.run('a', () => value)
      await expect(call).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'result' })
    }
    const secret = { secret: 'hunter2', big: 1n }
    const error: unknown = await others.run('a', () => secret).catch((thrown: unknown) => thrown)
    expect(JSON.stringify([error, (error as Error).message])).not.toContain('hunter2')
    const codec = { encode: () => 42 as unknown as string, decode: () => 1 }
    await expect(pages(one, { codec }).run('a', () => 1)).rejects.toThrow('well-formed text')
    expect(await rig.admin.exists(LOCK)).toBe(0)
  })

  it('holds a mebibyte by default', async () => {
    const text = 'x'.repeat(1_048_576 - 2)
    const share = pages(one, { keepMs: LONG_MS })
    expect(await share.run('a', () => text)).toBe(text)
    expect(await pages(other, { keepMs: LONG_MS }).run('a', never)).toBe(text)
    await expect(pages(one).run('a', () => `${text}x`)).rejects.toMatchObject({ value: 1_048_577 })
  })
})

describe('arguments', () => {
  const wrong: [string, () => unknown][] = [
    ['locks', () => getShare(null as never, 'pages')],
    ['name', () => getShare(one, '')],
    ['options', () => getShare(one, 'pages', { keepms: 1 } as never)],
    ['keepMs', () => getShare(one, 'pages', { keepMs: -1 })],
    ['staleMs', () => getShare(one, 'pages', { staleMs: Number.NaN })],
    ['waitMs', () => getShare(one, 'pages', { waitMs: -1 })],
    ['leaseMs', () => getShare(one, 'pages', { leaseMs: 0 })],
    ['onCrash', () => getShare(one, 'pages', { onCrash: 'retry' as never })],
    ['onRedisError', () => getShare(one, 'pages', { onRedisError: 'ignore' as never })],
    ['codec', () => getShare(one, 'pages', { codec: { encode: String } as never })],
    ['maxBytes', () => getShare(one, 'pages', { maxBytes: 0 })],
    ['onRefreshError', () => getShare(one, 'pages', { onRefreshError: 1 as never })],
  ]
  it.each(wrong)('%s is checked when a share is made', (argument, make) => {
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', argument }))
  })

  it('arguments of a call are checked before anything is sent', async () => {
    const share = pages(one)
    const calls: [string, Promise<unknown>][] = [
      ['key', share.run('', never)],
      ['key', share.invalidate(42 as never)],
      ['task', share.run('a', undefined as never)],
      ['options', share.run('a', never, { wait: 1 } as never)],
      ['waitMs', share.run('a', never, { waitMs: -1 })],
      ['signal', share.run('a', never, { signal: {} as never })],
      ['name', share.run('x'.repeat(1_025), never)],
    ]
    for (const [argument, call] of calls) {
      await expect(call).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument })
    }
    const reason = new Error('gone')
    await expect(share.run('a', never, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })
})

it('a result is no result for a call that came behind its end, in a process that was cut off meanwhile', async () => {
  const { proxy, locks: away } = await rig.proxied()
  const { work, first } = await running(pages(one), 'a')
  const before = pages(away)
  const waits = before.run('a', never)
  await eventually(async () => (await rig.admin.pubsub('CHANNELS', `*${LOCK}*`)).length > 0)
  proxy.refuse()
  work.succeed('first')
  await first
  await sleep(400)
  const late = before.run('a', () => 'second')
  proxy.pass()
  expect(await soon(waits)).toBe('first')
  expect(await soon(late)).toBe('second')
})
