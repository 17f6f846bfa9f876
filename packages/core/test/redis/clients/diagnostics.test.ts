import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { execFile } from 'node:child_process'
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { promisify } from 'node:util'
import { LOCK_CHANNELS } from '../../../src/index.js'
import { systemRuntime } from '../../../src/runtime/runtime.js'
import { eventually, own, redisUrl, useRig } from '../support/rig.js'
import { root } from '../support/markdown.js'
import { useSeen } from '../support/seen.js'

const run = promisify(execFile)

describe('what is published', () => {
  const harness = useRig({ redis: 'all' })
  const seen = useSeen()
  const locks = own(() => harness.client())
  const lock = own(() => locks.getLock(harness.name()))

  it('what is published of a call and a hold, is the same object from beginning to end', async () => {
    const hold = await lock.acquire()
    expect(seen.calls.map(({ phase }) => phase)).toEqual(['begun', 'ended'])
    expect(seen.ended[0]).toMatchObject({
      ...{ lockName: harness.name(), kind: 'reentrant', clientId: locks.clientId, hasWaited: false },
      ...{ outcome: 'acquired', path: 'remote', holder: undefined, handOffMs: undefined },
    })
    expect(seen.ended[0]!.waitedMs).toBeGreaterThan(0)
    expect(seen.holds).toMatchObject([{ phase: 'begun', owner: hold.owner, kind: 'reentrant' }])
    await hold.release()
    expect(seen.holds.at(-1)).toMatchObject({ phase: 'ended', outcome: 'released', owner: hold.owner })
    expect(seen.holds.at(-1)!.heldMs).toBeGreaterThan(0)
    expect(seen.objects.size).toBe(2)
  })

  it('what is published of a wait, says for whom, and what the hand-off took', async () => {
    // One that tries when it is told: what it is given it has at once.
    const other = await harness.client({ pushedGrants: false })
    const handOffs: number[] = []
    // The try that follows the subscription may be the one that gets the lock: it came after no message.
    for (let i = 0; i < 10; i += 1) {
      const first = await lock.acquire()
      seen.clear()
      const second = other.getLock(harness.name()).acquire()
      await eventually(() => seen.calls.some(({ phase }) => phase === 'parked'))
      expect(seen.calls.at(-1)).toMatchObject({ hasWaited: true, holder: { owner: first.owner } })
      await eventually(async () => (await harness.admin.pubsub('CHANNELS', `*${harness.name()}*`)).length > 0)
      await first.release()
      await (await second).release()
      expect(seen.ended).toMatchObject([
        { outcome: 'acquired', path: 'remote', holder: { owner: first.owner } },
      ])
      const { handOffMs, waitedMs = 0 } = seen.ended[0]!
      if (handOffMs !== undefined) {
        expect(handOffMs).toBeGreaterThan(0)
        expect(handOffMs).toBeLessThanOrEqual(waitedMs)
        handOffs.push(handOffMs)
      }
    }
    expect(handOffs.length).toBeGreaterThan(0)
  })

  it('what is published of a call without a lock, says why', async () => {
    const other = (await harness.client()).getLock(harness.name())
    const hold = await lock.acquire()
    seen.clear()
    expect(await other.tryAcquire()).toBeNull()
    const reason = new Error('enough')
    const abort = new AbortController()
    const aborted = other.acquire({ signal: abort.signal })
    await eventually(() => seen.calls.at(-1)?.phase === 'parked')
    // Behind a caller that was refused: the end of its wait needs no answer.
    await expect(other.acquire({ waitMs: 20 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    abort.abort(reason)
    await expect(aborted).rejects.toBe(reason)
    await harness.admin.set(harness.name('text'), 'no lock', 'PX', 10_000)
    await expect(locks.getLock(harness.name('text')).acquire()).rejects.toMatchObject({ code: 'WRONG_TYPE' })
    await harness.admin.del(harness.name('text'))
    expect(seen.ended.map(({ outcome }) => outcome)).toEqual(['timeout', 'timeout', 'aborted', 'error'])
    expect(seen.ended.map(({ error }) => (error as Error | undefined)?.message)).toEqual([
      ...[undefined, undefined, 'enough'],
      expect.stringContaining('is not a lock'),
    ])
    expect(seen.ended[1]!.holder).toMatchObject({ owner: hold.owner })
    await expect(lock.acquire({ waitMs: -1 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(seen.ended).toHaveLength(4)
    await hold.release()
  })

  it('what is published of a re-entry, is a call, and no hold of its own', async () => {
    await locks.run(async () => {
      await lock.lock()
      await lock.lock()
      expect(seen.ended.map(({ path }) => path)).toEqual(['remote', 'reentrant'])
      await lock.unlock()
      expect(seen.holds.map(({ phase }) => phase)).toEqual(['begun'])
      await lock.unlock()
      expect(seen.holds.map(({ phase }) => phase)).toEqual(['begun', 'ended'])
    })
  })

  it('what is published of a loss, is one end with its reason, also when the release finds it', async () => {
    const lost: string[] = []
    locks.on('lost', ({ error }) => lost.push(error.reason))
    const forced = await locks.getLock(harness.name('a')).acquire()
    await locks.getLock(harness.name('a')).forceUnlock()
    await eventually(() => forced.isLost)
    expect(await forced.release()).toBe('lost')
    const gone = await locks.getLock(harness.name('b')).acquire()
    await harness.admin.del(harness.name('b'))
    expect(await gone.release()).toBe('lost')
    const ended = seen.holds.filter(({ phase }) => phase === 'ended')
    expect(ended.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['lost', 'forced'],
      ['lost', 'gone'],
    ])
    expect(lost).toEqual(['forced', 'gone'])
  })

  it('what is published of a renewal, is what came of it and the trust that was left', async () => {
    // Time passes when the test says so: no lease ends, and no command is given up, while the machine is busy.
    const clock = new ManualClock()
    const limits = { commandTimeout: 60_000, unavailableTimeoutMs: 60_000 }
    const client = await harness.client({ runtime: clock, lockWatchdogTimeout: 30_000, ...limits })
    client.on('lost', () => undefined)
    const hold = await client.getLock(harness.name()).acquire()
    const permits = client.getPermitExpirableSemaphore(harness.name('permits'))
    await permits.trySetPermits(1)
    const permit = await permits.acquirePermit({ renew: true })
    await clock.advance(10_000)
    await eventually(() => new Set(seen.renewals.map(({ owner }) => owner)).size === 2)
    expect(seen.renewals.map(({ outcome }) => outcome)).toEqual(seen.renewals.map(() => 'renewed'))
    expect(new Set(seen.renewals.map(({ kind }) => kind))).toEqual(new Set(['reentrant', 'permit']))
    for (const { marginMs } of seen.renewals) {
      expect(marginMs).toBeGreaterThan(0)
      expect(marginMs).toBeLessThanOrEqual(20_000)
    }
    await harness.admin.del(harness.name())
    await clock.advance(10_000)
    await eventually(() => hold.isLost)
    const ofHold = seen.renewals.filter(({ owner }) => owner === hold.owner)
    expect(ofHold.at(-1)).toMatchObject({ outcome: 'lost' })
    await permit.release()
    expect(seen.holds.at(-1)).toMatchObject({ kind: 'permit', outcome: 'released', owner: permit.id })
    await harness.admin.del(harness.name('permits'))
  })

  it('what is published of several locks, is one call, and a hold for each of them', async () => {
    const members = ['a', 'b'].map((name) => locks.getLock(harness.name(name)))
    const hold = await locks.getMultiLock(...members).acquire()
    expect(seen.calls.map(({ kind, phase }) => [kind, phase])).toEqual([
      ['multi', 'begun'],
      ['multi', 'ended'],
    ])
    await hold.release()
    expect(seen.holds.map(({ lockName, phase }) => `${lockName} ${phase}`).sort()).toEqual(
      ['a', 'b'].flatMap((name) => [`${harness.name(name)} begun`, `${harness.name(name)} ended`]),
    )
  })

  it('what is published of permits, is a call of its own kind', async () => {
    const semaphore = locks.getSemaphore(harness.name())
    await semaphore.trySetPermits(1)
    await semaphore.acquire()
    expect(await semaphore.tryAcquire()).toBe(false)
    const second = semaphore.acquire()
    await eventually(() => seen.calls.at(-1)?.phase === 'parked')
    await semaphore.release()
    await second
    expect(seen.ended.map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      ...['semaphore acquired', 'semaphore timeout', 'semaphore acquired'],
    ])
    expect(seen.holds).toEqual([])
    await harness.admin.del(harness.name())
  })

  it('comes in the async context of the caller', async () => {
    const requests = new AsyncLocalStorage<string>()
    const stores: (string | undefined)[] = []
    const look = (): void => void stores.push(requests.getStore())
    const { callBegun, callParked, callEnded, holdBegun, holdEnded } = LOCK_CHANNELS
    const channels = [callBegun, callParked, callEnded, holdBegun, holdEnded]
    channels.forEach((channel) => subscribe(channel, look))
    try {
      const first = await requests.run('first', () => lock.acquire())
      const second = requests.run('second', () => lock.acquire())
      await eventually(() => seen.calls.at(-1)?.phase === 'parked')
      stores.splice(4) // when it is parked, and when the first ends, it may be anybody's
      await first.release()
      await (await second).release()
      expect(stores.slice(0, 3)).toEqual(['first', 'first', 'first'])
      expect(stores.filter((store) => store === 'second').length).toBeGreaterThanOrEqual(2)
    } finally {
      channels.forEach((channel) => unsubscribe(channel, look))
    }
  })
})

describe('subscribers', () => {
  const harness = useRig({ redis: 'all' })

  it('subscribers of one moment alone are told all that is known by then', async () => {
    const seen: unknown[] = []
    const listener = (message: unknown): void => void seen.push({ ...(message as object) })
    const channels = [LOCK_CHANNELS.callEnded, LOCK_CHANNELS.holdEnded]
    const lock = (await harness.client()).getLock(harness.name())
    const before = await lock.acquire()
    channels.forEach((channel) => subscribe(channel, listener))
    try {
      const waiting = lock.acquire()
      await eventually(() => lock.isLocked())
      await before.release()
      await (await waiting).release()
      const next = await lock.acquire()
      await next.release()
    } finally {
      channels.forEach((channel) => unsubscribe(channel, listener))
    }
    // Nothing for the hold that was there before: nobody dated its beginning.
    const [waited, passed, call, hold, ...more] = seen as { serial: number }[]
    // Whether it was passed on or taken by a command, the machine decides.
    expect(waited).toMatchObject({ phase: 'ended', outcome: 'acquired', hasWaited: true })
    expect(passed).toMatchObject({ phase: 'ended', outcome: 'released' })
    expect(call).toMatchObject({ phase: 'ended', hasWaited: false, path: 'remote' })
    expect(hold).toMatchObject({ phase: 'ended', outcome: 'released' })
    expect(hold!.serial).toBeGreaterThan(passed!.serial)
    expect(more).toEqual([])
  })

  it('cost no look at the clock, there or not: a lock that need not wait reads it for itself', async () => {
    let looks = 0
    const now = (): number => {
      looks += 1
      return performance.now()
    }
    const lock = (await harness.client({ runtime: { ...systemRuntime, now } })).getLock(harness.name())
    /** The least of some: a timer of the client may look meanwhile. */
    const looksOf = async (): Promise<number> => {
      const counts: number[] = []
      for (let i = 0; i < 3; i += 1) {
        const before = looks
        await (await lock.acquire()).release()
        counts.push(looks - before)
      }
      return Math.min(...counts)
    }
    await looksOf()
    const alone = await looksOf()
    const listener = (): void => undefined
    const channels = Object.values(LOCK_CHANNELS)
    channels.forEach((channel) => subscribe(channel, listener))
    const seen = await looksOf()
    channels.forEach((channel) => unsubscribe(channel, listener))
    expect(seen).toBe(alone)
    expect(await looksOf()).toBe(alone)
  })

  it('subscribers that throw harm no lock: Node makes it an uncaught exception', async () => {
    const program = `
      import { subscribe } from 'node:diagnostics_channel'
      import { LockClient, LOCK_CHANNELS } from '@holdfast/core'
      let thrown = 0
      process.on('uncaughtException', () => (thrown += 1))
      for (const channel of Object.values(LOCK_CHANNELS)) subscribe(channel, () => { throw new Error('no') })
      const locks = await LockClient.connect('${redisUrl}')
      console.log(await locks.getLock('${harness.name()}').withLock(() => 'done'))
      await locks.close()
      console.log(thrown)`
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: root })
    expect(stdout).toBe('done\n4\n')
  })
})
