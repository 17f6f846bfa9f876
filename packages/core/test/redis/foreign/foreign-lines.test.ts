import { expect } from '@jest/globals'
import type { Lock, LockClient } from '../../../src/index.js'
import { nextEvent, outcomeOf } from '../support/outcomes.js'
import { fairKeys } from '../support/fair-line.js'
import { eventually, soon } from '../support/rig.js'
import { describe, it, own, useRig } from '../support/together.js'

// Somebody else wrote under the names that Holdfast keeps beside a lock: another type, or values that make no sense.

const NAME = 'order:42'
const LINE = `holdfast:line:{${NAME}}`
const NOTE = `holdfast:note:{${NAME}}`
const WRITERS = `holdfast:writers:{${NAME}}`
const { queue: QUEUE, timeouts: TIMES, arrivals: ARRIVALS, heartbeats: HEARTBEATS } = fairKeys(NAME)
const TOKEN = `redisson_lock_token:{${NAME}}`
const CHANNEL = `redisson_lock__channel:{${NAME}}`

const rig = useRig()
const client = (options = {}) => rig.client({ resyncInterval: 20_000, describeHolds: true, ...options })
const locks = own(() => client())
const others = own(() => client())

/** Something of another type than any of these is. */
const spoil = (key: string) => rig.admin.xadd(key, '1-1', 'not', 'ours')
const isSpoilt = async (key: string) => (await rig.admin.type(key)) === 'stream'

const plain: [string, (locks: LockClient) => Lock, string][] = [
  ['the line of a lock', (locks) => locks.getLock(NAME), LINE],
  ['the note of a lock', (locks) => locks.getLock(NAME), NOTE],
  ['the note of a fenced lock', (locks) => locks.getFencedLock(NAME), NOTE],
  ['the note of a fair lock', (locks) => locks.getFairLock(NAME), NOTE],
  ['the note of a write lock', (locks) => locks.getReadWriteLock(NAME).writeLock(), NOTE],
  ['the writers that wait for a read lock', (locks) => locks.getReadWriteLock(NAME).readLock(), WRITERS],
  ['the writers that wait for a write lock', (locks) => locks.getReadWriteLock(NAME).writeLock(), WRITERS],
]

describe('something of another type', () => {
  it.each(plain)('as %s: it is taken, released and waited for, and that is left alone', async (...each) => {
    const [, of, key] = each
    await spoil(key)
    const hold = await of(locks).acquire()
    const rival = key === WRITERS ? others.getReadWriteLock(NAME).writeLock() : of(others)
    const waiting = rival.acquire()
    await eventually(async () => {
      const channels = await rig.admin.pubsub('CHANNELS', `*{${NAME}}`)
      return channels.length > 0 || (await rig.admin.type(ARRIVALS)) === 'zset'
    })
    await rival.inspect()
    expect(await hold.release()).toBe('released')
    const next = await soon(waiting)
    await next.verify()
    expect(await next.release()).toBe('released')
    expect(await rig.admin.exists(NAME)).toBe(0)
    expect(await isSpoilt(key)).toBe(true)
    await rig.admin.del(key, TOKEN)
  })

  it.each(plain)('as %s, put there while it is held: the release works, and is no loss', async (...each) => {
    const [, of, key] = each
    const hold = await of(locks).acquire()
    await rig.admin.del(key)
    await spoil(key)
    expect(await hold.release()).toBe('released')
    expect(await rig.admin.exists(NAME)).toBe(0)
    await rig.admin.del(key, TOKEN)
  })

  const parts = [QUEUE, TIMES, ARRIVALS, HEARTBEATS]

  it.each(parts)('as %s: who waits for the fair lock is told so, and leaves nothing', async (key) => {
    await rig.admin.hset(NAME, 'java:1', 1)
    await spoil(key)
    const error = await outcomeOf(locks.getFairLock(NAME).acquire({ waitMs: 60_000 }))
    expect(error).toMatchObject({ code: 'WRONG_TYPE', lockName: NAME })
    expect(await isSpoilt(key)).toBe(true)
    await rig.admin.del(key, NAME)
    expect(await rig.keysLeft()).toEqual([])
  })

  it.each(parts)(
    'as %s, put there while the fair lock is held: the release works, and is no loss',
    async (key) => {
      for (const end of ['release', 'force'] as const) {
        const hold = await locks.getFairLock(NAME).acquire()
        await spoil(key)
        if (end === 'release') {
          expect(await hold.release()).toBe('released')
        } else {
          expect(await locks.getFairLock(NAME).forceUnlock()).toBe(true)
        }
        expect(await rig.admin.exists(NAME)).toBe(0)
        await rig.admin.del(key)
      }
    },
  )
})

const owner = 'a~123456789012345678901:1'

describe('the queue of a plain lock, with values that make no sense', () => {
  const lines: [string, (string | number)[]][] = [
    ['an owner without a colon', [5, 'nobody', -9e14, 'alive:nobody', -7, '2:nobody']],
    ['an owner with two', [5, 'a:b:1', -9e14, 'alive:a:b:1', -7, '2:a:b:1']],
    ['a life that never ends', [5, owner, '-inf', `alive:${owner}`, -7, `2:${owner}`]],
    ['a life of 1e300', [5, owner, -1e300, `alive:${owner}`, -7, `2:${owner}`]],
    ['a life that ends before time', [5, owner, 1e300, `alive:${owner}`, -7, `2:${owner}`]],
    ['an arrival of 1e300', ['1e300', owner, -9e14, `alive:${owner}`]],
    ['an arrival without end', ['+inf', owner, -9e14, `alive:${owner}`]],
    ['left free at the end of time', [5, owner, -9e14, `alive:${owner}`, -1e300, 'left-free']],
    ['a nonce that is none', [5, owner, -9e14, `alive:${owner}`, 0.5, `2:${owner}`]],
    ['an empty owner', [5, '', -9e14, 'alive:']],
  ]

  it.each(lines)('%s: the lock goes to nobody who is not there, with its message', async (_what, members) => {
    const listener = rig.connection()
    await listener.subscribe(CHANNEL)
    const heard = new Promise((resolve) => listener.once('message', (_channel, said) => resolve(said)))
    const hold = await locks.getLock(NAME).acquire()
    await rig.admin.zadd(LINE, ...members)
    expect(await hold.release()).toBe('released')
    expect(await rig.admin.exists(NAME)).toBe(0)
    expect(await soon(heard)).toBe('0')
    await locks.getLock(NAME).withLock(() => undefined)
    await rig.admin.del(LINE)
  })

  it('waiters come through all of it', async () => {
    const hold = await locks.getLock(NAME).acquire()
    for (const [, members] of lines) {
      await rig.admin.zadd(LINE, ...members)
    }
    const waiting = others.getLock(NAME).acquire()
    await eventually(async () => (await rig.admin.zcard(LINE)) > 0)
    await eventually(async () => (await rig.admin.pubsub('CHANNELS', CHANNEL)).length > 0)
    expect(await hold.release()).toBe('released')
    expect(await (await soon(waiting)).release()).toBe('released')
    await rig.admin.del(LINE)
  })
})

describe('the queue of a fair lock, with values that make no sense', () => {
  const lines: [string, () => Promise<unknown>][] = [
    ['an owner without a colon', () => stand('nobody', 5, '99999999999999 1 g2:ff')],
    ['a life of 400 digits', () => stand(owner, 5, `${'9'.repeat(400)} 1 g2:ff`)],
    ['a life that is no number', () => stand(owner, 5, 'soon')],
    ['an arrival of 1e300', () => stand(owner, 1e300, '1 1 g')],
    ['an arrival without end', () => stand(owner, '+inf', '1 1 g')],
    ['a time without end', () => stand(owner, '-inf', '1 1 g')],
    ['signs of life of nobody', () => rig.admin.hset(HEARTBEATS, ':heard', 'x', ':span', 'y', 'b', 'z')],
  ]
  const stand = async (name: string, arrival: string | number, life: string): Promise<void> => {
    await rig.admin.rpush(QUEUE, name)
    await rig.admin.zadd(TIMES, arrival, name)
    await rig.admin.zadd(ARRIVALS, arrival, name)
    await rig.admin.hset(HEARTBEATS, name.split(':')[0]!, life)
  }

  it.each(lines)(
    '%s: a waiter comes through, and the lock goes to nobody who is not there',
    async (...each) => {
      const [, put] = each
      const others = await client({ resyncInterval: 500 })
      const hold = await locks.getFairLock(NAME).acquire()
      await put()
      const waiting = others.getFairLock(NAME).acquire()
      await eventually(async () => (await rig.admin.zcard(ARRIVALS)) > 0)
      await locks.getFairLock(NAME).isLocked()
      expect(await hold.release()).toBe('released')
      expect(await (await soon(waiting)).release()).toBe('released')
      await rig.admin.del(QUEUE, TIMES, ARRIVALS, HEARTBEATS)
    },
  )
})

describe('tokens and counters that make no sense', () => {
  it.each(['-5', 'x', '1e300', '9223372036854775807'])(
    'a token %s: no lock, and nobody has it',
    async (token) => {
      await rig.admin.set(TOKEN, token)
      await expect(locks.getFencedLock(NAME).acquire({ waitMs: 0 })).rejects.toMatchObject({
        code: expect.stringMatching(/^(WRONG_TYPE|REDIS_UNAVAILABLE)$/) as unknown,
      })
      expect(await rig.admin.exists(NAME)).toBe(0)
      await rig.admin.del(TOKEN)
    },
  )

  it.each(['1e300', '9'.repeat(400), '-'.repeat(2), '9007199254740993'])(
    'permits %s: WRONG_TYPE',
    async (value) => {
      await rig.admin.set(NAME, value)
      await expect(locks.getSemaphore(NAME).tryAcquire()).rejects.toMatchObject({ code: 'WRONG_TYPE' })
      expect(await rig.admin.get(NAME)).toBe(value)
      await rig.admin.del(NAME)
    },
  )
})

describe('foreign text', () => {
  const long = `${'x'.repeat(5_000)}:7`

  it('in an error and an event has 200 characters', async () => {
    const locks = await client({ waitingThreshold: 10 })
    await rig.admin.hset(NAME, long, 1)
    await rig.admin.pexpire(NAME, 60_000)
    await rig.admin.set(NOTE, `1 ${'y'.repeat(5_000)} ${long}`)
    const [told, enough] = [nextEvent(locks, 'waiting'), new AbortController()]
    const waiting = outcomeOf(locks.getLock(NAME).acquire({ signal: enough.signal }))
    expect((await told).holder?.owner).toHaveLength(200)
    enough.abort()
    await waiting
    const slow = await rig.slow({ describeHolds: true })
    const error = await outcomeOf(slow.getLock(NAME).acquire({ waitMs: 1 }))
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT' })
    expect((error as Error).message.length).toBeLessThan(500)
    expect((error as { holder: { owner: string } }).holder.owner).toBe(`${'x'.repeat(199)}…`)
    const [holder] = (await locks.getLock(NAME).inspect())!.holders
    expect(holder!.owner).toHaveLength(200)
    expect(holder!.traceparent).toBeUndefined()
    await rig.admin.del(NAME, NOTE)
  })

  it('a client’s own name is not cut', async () => {
    const locks = await client({ clientName: 'n'.repeat(200) })
    const hold = await locks.getLock(NAME).acquire()
    expect((await locks.getLock(NAME).inspect())!.holders[0]).toMatchObject({ owner: hold.owner })
    await hold.release()
  })
})
