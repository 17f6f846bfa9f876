import { expect } from '@jest/globals'
import type { LocksInspection } from '../../../src/index.js'
import { outcomeOf } from '../support/outcomes.js'
import { describe, it, own, useRig } from '../support/together.js'

const rig = useRig()
const locks = own(() => rig.client({ clientName: 'orders', describeHolds: true }))

const namesIn = ({ locks: found }: LocksInspection): string[] => found.map(({ name }) => name).sort()
const takeAll = (names: readonly string[], client = locks) =>
  Promise.all(names.map((name) => client.getLock(name).acquire()))
const releaseAll = (holds: readonly { release(): Promise<unknown> }[]) =>
  Promise.all(holds.map((hold) => hold.release()))
const numbered = (count: number, of = 'order') => Array.from({ length: count }, (_, i) => `${of}:${i}`)

describe('inspectAll()', () => {
  it('tells nothing where nothing is held', async () => {
    expect(await locks.inspectAll()).toEqual({ locks: [], complete: true })
  })

  it('finds locks of every kind, and what Redis shows of each', async () => {
    const lock = locks.getReadWriteLock('documents')
    const holds = [
      await locks.getLock('plain').acquire(),
      await locks.getFencedLock('fenced').acquire(),
      await locks.getFairLock('fair').acquire(),
      await lock.readLock().acquire(),
      await lock.readLock().acquire(),
    ]
    const waiting = locks.getFairLock('fair').acquire({ waitMs: 60_000 })
    waiting.catch(() => undefined)
    const seen = async () => new Map((await locks.inspectAll()).locks.map((each) => [each.name, each]))
    while ((await seen()).get('fair')?.waiting !== 1);
    const found = await seen()
    expect([...found.keys()].sort()).toEqual(['documents', 'fair', 'fenced', 'plain'])
    expect(found.get('plain')).toMatchObject({ kind: undefined, waiting: undefined, token: undefined })
    expect(found.get('plain')?.holders).toMatchObject([{ owner: holds[0]?.owner, clientName: 'orders' }])
    expect(found.get('plain')?.holders[0]?.heldForMs).toBeGreaterThanOrEqual(0)
    expect(found.get('fenced')).toMatchObject({ token: '1' })
    expect(found.get('fair')).toMatchObject({ kind: 'fair', waiting: 1 })
    expect(found.get('documents')).toMatchObject({ kind: 'read-write', mode: 'read', waiting: 0 })
    expect(found.get('documents')?.holders).toHaveLength(2)
    await releaseAll(holds)
    await (await waiting).release()
  })

  it('lists no hash that is no lock, and changes none', async () => {
    const strangers: Record<string, Record<string, string>> = {
      user: { name: 'x', age: '7' },
      empty: { '': '1' },
      number: { 'page:7': 'x' },
      zero: { 'page:7': '0' },
      negative: { 'page:7': '-1' },
      float: { 'page:7': '1.5' },
      several: { 'page:7': '1', 'page:8': '1' },
      mode: { mode: 'read' },
      'mode of others': { mode: 'dark', 'page:7': '1' },
      'mode and more': { mode: 'read', 'page:7': '1', size: '3' },
      text: { 'page:x': '1' },
      colons: { 'a:b:7': '1' },
      'holdfast:ticks:{a}': { '1700000000000': '{}' },
      'holdfast:operations:{a}:c~1': { floor: '1', '2': '1' },
      'holdfast:heartbeats:{a}': { 'c~1': '1 2', ':heard': '1', ':span': '2' },
    }
    for (const [key, fields] of Object.entries(strangers)) {
      await rig.admin.multi().hset(key, fields).pexpire(key, 60_000).exec()
    }
    const large = Object.fromEntries(numbered(2_000, 'page').map((field) => [field, '1']))
    await rig.admin
      .multi()
      .hset('large', { mode: 'read', ...large })
      .pexpire('large', 60_000)
      .exec()
    // A hash without a time to live is not taken for a lock.
    await rig.admin.hset('endless', 'page:7', '1')
    await rig.admin.rpush('list', 'a')
    await rig.admin.set('string', 'a')
    const before = await rig.contents()
    expect(await locks.inspectAll()).toEqual({ locks: [], complete: true })
    expect(await rig.contents()).toEqual(before)
    await rig.admin.flushall()
  })

  it('goes through all keys, and says that it did', async () => {
    const holds = await takeAll(numbered(250))
    const found = await locks.inspectAll({ limit: 1_000 })
    expect(found.complete).toBe(true)
    expect(namesIn(found)).toEqual(numbered(250).sort())
    expect((await locks.inspectAll({ limit: 251 })).complete).toBe(true)
    await releaseAll(holds)
  })

  it('stops at a limit of locks or of steps, and says so', async () => {
    const holds = await takeAll(numbered(250))
    const few = await locks.inspectAll({ limit: 10 })
    expect(few.locks).toHaveLength(10)
    expect(few.complete).toBe(false)
    const usual = await locks.inspectAll()
    expect(usual.locks).toHaveLength(100)
    expect(usual.complete).toBe(false)
    await rig.server.resetStats()
    const short = await locks.inspectAll({ maxSteps: 1, limit: 1_000 })
    expect((await rig.server.commandStats()).get('scan')).toBe(1)
    expect(short.complete).toBe(false)
    expect(short.locks.length).toBeLessThan(250)
    await releaseAll(holds)
  })

  it('takes names by a pattern, and a signal ends it', async () => {
    const holds = await takeAll(['order:1', 'order:2', 'user:1'])
    expect(namesIn(await locks.inspectAll({ match: 'order:*' }))).toEqual(['order:1', 'order:2'])
    const reason = new Error('enough')
    expect(await outcomeOf(locks.inspectAll({ signal: AbortSignal.abort(reason) }))).toBe(reason)
    await releaseAll(holds)
  })

  it('keeps to the prefix of its connection, which means itself', async () => {
    const keyPrefix = 'a*[b]:'
    const own = await rig.client({}, rig.connection({ keyPrefix }))
    const holds = [...(await takeAll(['order:1'], own)), ...(await takeAll(['axx[b]:order:2', 'order:3']))]
    expect(namesIn(await own.inspectAll())).toEqual(['order:1'])
    expect(namesIn(await own.inspectAll({ match: 'o*' }))).toEqual(['order:1'])
    expect(namesIn(await locks.inspectAll())).toEqual(
      [`${keyPrefix}order:1`, 'axx[b]:order:2', 'order:3'].sort(),
    )
    await releaseAll(holds)
  })

  it('leaves out what the user may not read', async () => {
    const holds = await takeAll(['app:1', 'secret:1'])
    const rule = ['on', '>pass', 'resetkeys', '&*', '+@all', '~app:*', '~*{app:*']
    await rig.admin.call('ACL', 'SETUSER', 'service', ...rule)
    const own = await rig.client({}, rig.connection({ username: 'service', password: 'pass' }))
    expect(namesIn(await own.inspectAll())).toEqual(['app:1'])
    await rig.admin.call('ACL', 'SETUSER', 'service', '-scan')
    expect(await outcomeOf(own.inspectAll())).toMatchObject({ code: 'REDIS_UNAVAILABLE', outcome: 'refused' })
    await rig.admin.call('ACL', 'SETUSER', 'service', '+scan')
    await own.close()
    await rig.admin.call('ACL', 'DELUSER', 'service')
    await releaseAll(holds)
  })

  it.each([
    [{ limit: 0 }, 'limit'],
    [{ limit: 1.5 }, 'limit'],
    [{ maxSteps: 0 }, 'maxSteps'],
    [{ match: '' }, 'match'],
    [{ match: 7 as unknown as string }, 'match'],
    [{ signal: 'no' as unknown as AbortSignal }, 'signal'],
    [null as unknown as object, 'options'],
  ])('%j is refused', async (options, argument) => {
    expect(await outcomeOf(locks.inspectAll(options))).toMatchObject({ code: 'INVALID_ARGUMENT', argument })
  })

  it('is refused by a client that is closed, and without a connection', async () => {
    const client = await rig.client()
    await client.close()
    expect(await outcomeOf(client.inspectAll())).toMatchObject({ code: 'CLIENT_CLOSED' })
    const lonely = rig.clientNow({ commandTimeout: 100 }, rig.connection({}, { port: 1 }))
    expect(await outcomeOf(lonely.inspectAll())).toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      outcome: 'not-sent',
    })
  })

  it('a Redis that does not answer ends it, after commandTimeout', async () => {
    const client = await rig.client({ commandTimeout: 100 })
    await rig.server.pause()
    expect(await outcomeOf(client.inspectAll())).toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      outcome: 'unknown',
    })
    rig.server.resume()
  })
})
