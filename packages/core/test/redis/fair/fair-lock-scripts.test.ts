import { describe, expect, it } from '@jest/globals'
import { RedisServer } from '@holdfast/faults/harness'
import { RedisUnavailableError } from '../../../src/index.js'
import {
  acquire,
  forceRelease,
  heartbeat,
  fairLine,
  release,
  withdraw,
  type FairAcquireArguments,
  type FairReleaseArguments,
} from '../../../src/scripts/fair-lock.js'
import { FairLine } from '../support/fair-line.js'
import { failureOf } from '../support/outcomes.js'
import { stamp } from '../support/plain-scripts.js'
import { eventually, own, useRig } from '../support/rig.js'

const NAME = 'order:42'
const [A, B, C] = ['a~1:1', 'b~1:1', 'c~1:1']
const tombstoneOf = (owner: string): string => `holdfast:latch:{order:42}:${owner}`

const rig = useRig()
const line = fairLine({ lockName: NAME, key: NAME }, 300_000, false)
const seen = own(() => new FairLine(rig.admin, NAME))
const runner = own(() => rig.runner())

const aliveAs = (clientId: string) => ({
  clientId,
  aliveForMs: 60_000,
  hears: false,
  takesGrants: false,
  nonce: '0f',
  passesOn: false,
})
const acquireAs = (owner: string, change: Partial<FairAcquireArguments> = {}) =>
  acquire(runner, {
    line,
    tombstoneKey: tombstoneOf(owner),
    owner,
    holds: 1,
    leaseMs: 30_000,
    stamp: stamp(1),
    alive: aliveAs(owner.split(':')[0]!),
    arrival: '0',
    ...change,
  })
const releaseAs = (owner: string, change: Partial<FairReleaseArguments> = {}) =>
  release(runner, {
    line,
    tombstoneKey: tombstoneOf(owner),
    owner,
    holds: 0,
    stamp: stamp(2),
    passedTo: [],
    ...change,
  })
const beatAs = (clientId: string) => heartbeat(runner, { line, alive: aliveAs(clientId) })
const force = () => forceRelease(runner, line, { owners: [], isOfCaller: false })

describe('every RETURNS row of the scripts of a fair lock', () => {
  it('acquire: acquired, held with a number and a place, and acquired by the first in the queue alone', async () => {
    expect(await acquireAs(A)).toEqual({ kind: 'acquired' })
    const b = await acquireAs(B)
    expect(b).toMatchObject({ kind: 'held', holder: A, holds: 1, place: 1, javaIsThere: false })
    expect(await acquireAs(C)).toMatchObject({ kind: 'held', holder: A, place: 2 })
    await rig.admin.del(NAME)
    expect(await acquireAs(C)).toMatchObject({ kind: 'held', ttlMs: -2, holder: '', holds: 0, place: 2 })
    expect(await acquireAs(B)).toEqual({ kind: 'acquired' })
    expect(await seen.owners()).toEqual([C])
    await releaseAs(B)
    await releaseAs(C)
    expect(await rig.contents()).toEqual({})
  })

  it('acquire: who does not wait gets no number and no place', async () => {
    await acquireAs(A)
    const held = await acquireAs(B, { arrival: '-1' })
    expect(held).toMatchObject({ kind: 'held', holder: A, arrival: '0' })
    expect((held as { place?: number }).place).toBeUndefined()
    expect(Object.keys(await rig.contents())).toEqual([NAME])
    await force()
  })

  it('acquire: a Java client in the queue or with the lock is seen', async () => {
    await rig.admin.hset(NAME, 'uuid:7', '1')
    expect(await acquireAs(A)).toMatchObject({ javaIsThere: true, ttlMs: -1 })
    await rig.admin.hset(NAME, 'x~1:1', '1')
    await rig.admin.hdel(NAME, 'uuid:7')
    expect(await acquireAs(A)).toMatchObject({ javaIsThere: false })
    await rig.admin.rpush(seen.keys.queue, 'uuid:8')
    expect(await acquireAs(A)).toMatchObject({ javaIsThere: true, place: 2 })
    await rig.admin.flushall()
  })

  it('acquire: re-entered, lost and superseded as any lock (I2, I6)', async () => {
    await acquireAs(A)
    expect(await acquireAs(A, { holds: 2, stamp: stamp(2) })).toEqual({ kind: 'acquired' })
    expect(await rig.admin.hgetall(NAME)).toEqual({ [A]: '2' })
    expect(await acquireAs(B, { holds: 2 })).toEqual({ kind: 'lost' })
    await rig.admin.set(tombstoneOf(B), '1', 'PX', 60_000)
    expect(await acquireAs(B)).toEqual({ kind: 'superseded' })
    expect(await seen.length()).toBe(0)
    await force()
  })

  it('release: released, still held, superseded, not held; and out of the queue', async () => {
    await acquireAs(A)
    await acquireAs(A, { holds: 2, stamp: stamp(2) })
    await acquireAs(B)
    expect(await releaseAs(A, { holds: 1, stamp: stamp(3) })).toEqual({ kind: 'still-held' })
    await rig.admin.set(tombstoneOf(A), '5', 'PX', 60_000)
    expect(await releaseAs(A, { holds: 1, stamp: stamp(5) })).toEqual({ kind: 'superseded' })
    expect(await releaseAs(B)).toEqual({ kind: 'not-held' })
    expect(await seen.length()).toBe(0)
    expect(await releaseAs(A, { stamp: stamp(6) })).toEqual({ kind: 'released' })
    expect(await releaseAs(A, { stamp: stamp(6) })).toEqual({ kind: 'not-held' })
  })

  it('heartbeat: whose turn it is, and since when the client has lived without a gap', async () => {
    await acquireAs(A)
    const held = await acquireAs(B)
    const beat = await beatAs('b~1')
    expect(beat).toMatchObject({ holder: A, holds: 1, first: B, javaIsThere: false })
    expect(beat.firstAliveForMs).toBeGreaterThan(55_000)
    expect(held).toMatchObject({ life: { since: beat.life.since } })
    await rig.admin.hdel(seen.keys.heartbeats, 'b~1')
    await eventually(async () => (await beatAs('b~1')).life.since !== beat.life.since)
    await releaseAs(B)
    await releaseAs(A)
    expect(await beatAs('b~1')).toMatchObject({ ttlMs: -2, first: '', holder: '' })
    expect(await rig.contents()).toEqual({})
  })

  it('release, withdraw: how long whoever is called up has, where somebody waits behind it', async () => {
    await acquireAs(C)
    await acquireAs(A)
    await acquireAs(B)
    const { grantedForMs } = await releaseAs(C)
    expect(grantedForMs).toBeGreaterThan(55_000)
    expect(grantedForMs).toBeLessThanOrEqual(60_000)
    expect(await withdraw(runner, { line, owner: '' })).toBeGreaterThan(55_000)
    expect(await seen.owners()).toEqual([A, B])
    expect(await withdraw(runner, { line, owner: A })).toBe(0)
    expect(await withdraw(runner, { line, owner: B })).toBe(0)
    expect(await rig.contents()).toEqual({})
  })

  /** In line; Redis counts on it that its client listens to its inbox. */
  const standsHearing = (owner: string, change: Partial<FairAcquireArguments> = {}) =>
    acquireAs(owner, {
      alive: { ...aliveAs(owner.split(':')[0]!), hears: true, takesGrants: true },
      ...change,
    })
  const listensAs = (clientId: string) => rig.connection().subscribe(`holdfast:client:${clientId}`)

  it('acquire: takes a free lock behind waiters whose clients hear nothing, and is out of the queue (I2, I8)', async () => {
    await listensAs('c~1')
    await acquireAs(A)
    await standsHearing(B)
    const { arrival } = (await standsHearing(C)) as { arrival: string }
    await rig.admin.del(NAME)
    expect(await standsHearing(C, { arrival, stamp: stamp(2) })).toEqual({ kind: 'acquired' })
    expect(await seen.owners()).toEqual([])
    // Granted to itself by its own try, it would have stood in the queue still, and its release would have granted it the lock.
    expect(await releaseAs(C, { stamp: stamp(3) })).toEqual({ kind: 'released' })
    expect(await rig.contents()).toEqual({})
  })

  it('release: a Java thread keeps its place when another one of its client is passed over (I10)', async () => {
    await listensAs('c~1')
    await acquireAs(A)
    await standsHearing(B)
    for (const [owner, fromNow] of [
      ['uuid:7', -1_000],
      ['uuid:8', 300_000],
    ] as const) {
      await rig.admin.rpush(seen.keys.queue, owner)
      await rig.admin.zadd(seen.keys.timeouts, Date.now() + fromNow, owner)
    }
    await standsHearing(C)
    await releaseAs(A)
    expect(await seen.owners()).toEqual(['uuid:8', C])
    expect(await rig.admin.exists(NAME)).toBe(0)
    await rig.admin.flushall()
  })

  it('heartbeat: a Java client that put itself in the list again, without its time, stands there once (I10)', async () => {
    await acquireAs(A)
    await acquireAs(B)
    await rig.admin.rpush(seen.keys.queue, 'uuid:7')
    await rig.admin.del(seen.keys.timeouts)
    await acquireAs(C)
    await rig.admin.rpush(seen.keys.queue, 'uuid:7')
    await rig.admin.zadd(seen.keys.timeouts, Date.now() + 300_000, 'uuid:7')
    await beatAs('b~1')
    expect(await seen.owners()).toEqual([B, 'uuid:7', C])
    expect(await rig.admin.zcard(seen.keys.timeouts)).toBe(3)
    await rig.admin.flushall()
  })

  it('withdraw: out of the queue, and a hold stays', async () => {
    await acquireAs(A)
    await acquireAs(B)
    await withdraw(runner, { line, owner: A })
    await withdraw(runner, { line, owner: B })
    expect(await rig.contents()).toEqual({ [NAME]: { type: 'hash', value: { [A]: '1' } } })
    expect(await force()).toEqual({ kind: 'released', owners: 1 })
    expect(await force()).toEqual({ kind: 'not-held' })
  })
})

describe('a script that runs twice, or late', () => {
  it('puts an owner in the queue once, with one number (I2)', async () => {
    await acquireAs(A)
    const [one, two] = [await acquireAs(B), await acquireAs(B)]
    expect(two).toMatchObject({ arrival: (one as { arrival: string }).arrival, place: 1 })
    expect(await seen.owners()).toEqual([B])
    await releaseAs(B)
    await releaseAs(A)
  })

  it('puts nobody in the queue who has left it with a tombstone (I8)', async () => {
    await acquireAs(A)
    expect(await releaseAs(B, { stamp: stamp(2, 1) })).toEqual({ kind: 'not-held' })
    expect(await acquireAs(B)).toEqual({ kind: 'superseded' })
    expect(await seen.length()).toBe(0)
    await releaseAs(A)
  })
})

describe('a server that refuses', () => {
  it('out of memory: no acquire passes, also not behind what a script may write first', async () => {
    await rig.admin.rpush(seen.keys.queue, 'uuid:7')
    await rig.admin.zadd(seen.keys.timeouts, 1, 'uuid:7')
    const before = await rig.contents()
    await rig.outOfMemory(async () => {
      for (const arrival of ['0', '-1']) {
        await expect(acquireAs(A, { arrival })).rejects.toThrow(/OOM/)
      }
      expect(await rig.contents()).toEqual(before)
    })
    expect(await acquireAs(A)).toEqual({ kind: 'acquired' })
    await releaseAs(A)
  })

  it('out of memory: heartbeat, release, leaving and force-release pass', async () => {
    await acquireAs(A)
    await acquireAs(B)
    await acquireAs(C)
    await rig.outOfMemory(async () => {
      expect(await beatAs('b~1')).toMatchObject({ first: B })
      expect(await releaseAs(C, { stamp: stamp(2, 1) })).toEqual({ kind: 'not-held' })
      await withdraw(runner, { line, owner: B })
      expect(await releaseAs(A)).toEqual({ kind: 'released' })
      expect(await force()).toEqual({ kind: 'not-held' })
    })
    expect(Object.keys(await rig.contents())).toEqual([tombstoneOf(C)])
  })

  it('a demoted primary: every script fails with READONLY', async () => {
    await acquireAs(A)
    const primary = await RedisServer.start({ args: ['--repl-diskless-sync-delay', '0'] })
    try {
      await rig.admin.replicaof('127.0.0.1', primary.port)
      await eventually(async () => (await rig.admin.info('replication')).includes('link_status:up'), 10_000)
      const withdrawB = () => withdraw(runner, { line, owner: B })
      for (const ask of [() => acquireAs(B), () => releaseAs(B), () => beatAs('b~1'), force, withdrawB]) {
        const failure = await failureOf(ask())
        expect(failure).toBeInstanceOf(RedisUnavailableError)
        expect(String(failure)).toContain('READONLY')
        // Told by its code, and not by a text behind ERR.
        expect((failure as RedisUnavailableError).transient).toBe(true)
      }
    } finally {
      await rig.admin.replicaof('NO', 'ONE')
      await primary.stop()
      await rig.admin.flushall()
    }
  })
})
