import { describe, expect, it } from '@jest/globals'
import { seededRandom } from '@holdfast/faults/harness'
import { getEventListeners } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { LockTimeoutError, RedisUnavailableError, type Hold, type LockClient } from '../../../src/index.js'
import { acquireScript } from '../../../src/scripts/lock.js'
import { runsOf } from '../support/requests.js'
import { eventually, signalled, sleep, soon, useRig } from '../support/rig.js'

const rig = useRig()

/** The callers that a client keeps, by its own account. */
function keptBy(locks: LockClient): Record<string, number> {
  const { session } = locks as unknown as {
    session: {
      waiter: { size: number; lines: { size: number } }
      held: { all: unknown[] }
      background: { size: number }
      lastHolders: { byKey: Map<string, unknown> }
      plainQueue: { byKey: Map<string, unknown> } | null
      grantReceiver: { candidates: Map<string, unknown> }
    }
  }
  return {
    callers: session.waiter.size,
    lines: session.waiter.lines.size,
    refusals: session.lastHolders.byKey.size,
    holds: session.held.all.length,
    background: session.background.size,
    standing: session.plainQueue?.byKey.size ?? 0,
    candidates: session.grantReceiver.candidates.size,
  }
}

const NOTHING = {
  ...{ callers: 0, lines: 0, refusals: 0, holds: 0, background: 0 },
  ...{ standing: 0, candidates: 0 },
}

it('nothing is remembered of a fair lock that was waited for, whether it was had or not (I8)', async () => {
  const [locks, others] = [await rig.client(), await rig.client()]
  const hold = await others.getFairLock('order:42').acquire()
  const standing = (): Promise<void> =>
    eventually(async () => (await rig.admin.llen('redisson_lock_queue:{order:42}')) === 1)
  const given = locks.getFairLock('order:42').acquire()
  await standing()
  await hold.release()
  const next = await soon(given)
  const leaving = new AbortController()
  const gone = others.getFairLock('order:42').acquire({ signal: leaving.signal })
  leaving.abort('enough')
  await expect(gone).rejects.toBe('enough')
  const waiting = others.getFairLock('order:42').acquire({ waitMs: 1_000 })
  await standing()
  await expect(waiting).rejects.toThrow(LockTimeoutError)
  await next.release()
  for (const each of [locks, others]) {
    await eventually(() => JSON.stringify(keptBy(each)) === JSON.stringify(NOTHING))
  }
})

describe('callers that go before they have the lock', () => {
  it('while they are being refused, are not remembered under the name of the lock (I8)', async () => {
    const hold = await (await rig.client()).getLock('order:42').acquire()
    const proxy = await rig.proxy()
    proxy.delay(20)
    const locks = await rig.client({}, rig.connection({}, proxy))
    const sent = signalled()
    proxy.loseReply((bytes) => {
      if (runsOf(acquireScript)(bytes)) sent.resolve()
      return false
    })
    const leaving = new AbortController()
    const gone = locks.getLock('order:42').acquire({ signal: leaving.signal })
    await sent.promise
    leaving.abort('enough')
    await expect(gone).rejects.toBe('enough')
    await hold.release()
    // By the end of this call the answer to the caller that has gone is there.
    await locks.getLock('another').withLock(() => undefined)
    expect(keptBy(locks)).toEqual(NOTHING)
  })

  it.each([
    ['1,000', { localPassing: false, pushedGrants: false }],
    ['1,000 passed on', { localPassing: true, pushedGrants: false }],
    ['1,000 given', { localPassing: false, pushedGrants: true }],
    ['1,000 passed on and given', { localPassing: true, pushedGrants: true }],
  ])(
    'at any instant of %s waits, near and far from Redis: no hold, line or listener stays (I8)',
    async (_waits, options) => {
      const proxy = await rig.proxy()
      proxy.delay(1)
      const clients = [await rig.client(options), await rig.client(options, rig.connection({}, proxy))]
      const holder = await rig.client({ pushedGrants: options.pushedGrants })
      const names = ['lock-0', 'lock-1', 'lock-2']
      const random = seededRandom(11).next
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
      const told = { aborted: 0, timedOut: 0, taken: 0 }
      // How long it takes a caller who does not go: what the ends of the others are spread over.
      let lifeMs = 5
      let left = 1_000
      await rig.server.resetStats()

      const wait = async (locks: LockClient): Promise<void> => {
        const aborting = new AbortController()
        const isPatient = random() < 0.05
        const endMs = random() * lifeMs
        const ends = !isPatient && random() < 0.7
        // Sooner than a timer can tell: before the command is sent, or right after.
        const abort = (): void => aborting.abort(told)
        if (ends && endMs < 1)
          void Promise.resolve().then(endMs < 0.5 ? abort : () => process.nextTick(abort))
        const timer = ends && endMs >= 1 ? setTimeout(abort, endMs) : undefined
        try {
          const options = ends ? { signal: aborting.signal } : isPatient ? {} : { waitMs: endMs }
          const startedAt = performance.now()
          await locks.getLock(pick(names)).withLock(() => {
            told.taken += 1
            if (isPatient) lifeMs = performance.now() - startedAt
            return sleep(random() * 2)
          }, options)
        } catch (error) {
          if (error === told) told.aborted += 1
          else if (error instanceof LockTimeoutError) told.timedOut += 1
          // A machine that is busy may let no answer at all arrive in time: neither yes nor no.
          else if (!(error instanceof RedisUnavailableError)) throw error
        }
        clearTimeout(timer)
        expect(getEventListeners(aborting.signal, 'abort')).toEqual([])
      }
      const flow = async (index: number): Promise<void> => {
        while (left > 0) {
          left -= 1
          await wait(clients[index % 2]!)
        }
      }
      const hold = async (name: string): Promise<void> => {
        while (left > 0) {
          await holder.getLock(name).withLock(() => sleep(random() * 3))
          told.taken += 1
          await sleep(random() * 3)
        }
      }
      await soon(Promise.all([...Array.from({ length: 32 }, (_, i) => flow(i)), ...names.map(hold)]), 20_000)

      const calls = async (command: string): Promise<number> =>
        (await rig.server.commandStats()).get(command) ?? 0
      // The script that takes a lock writes once, the one that releases it tells of it once; passing needs neither, and
      // who finds itself the owner writes again.
      const isCountable = !options.localPassing && !options.pushedGrants
      const isEven = async (): Promise<boolean> => (await calls('publish')) === (await calls('hset'))
      await eventually(isCountable ? isEven : () => true, 1_000)
      await eventually(
        () => clients.every((each) => Object.values(keptBy(each)).every((n) => n === 0)),
        1_000,
      )
      // The queue of a lock that was granted outlives the last who stood there for a moment.
      await eventually(async () => (await rig.admin.dbsize()) === 0, 1_000)
      // Nobody waits for the end of a subscription: it may be on its way still, behind the last release.
      await eventually(async () => {
        const channels = (await rig.admin.pubsub('CHANNELS')) as string[]
        return channels.every((each) => each.startsWith('holdfast:client:'))
      }, 1_000)
      expect(Math.min(told.aborted, told.timedOut, told.taken)).toBeGreaterThan(0)
      // Some came too late for their caller: otherwise nobody went at the instant that this is about.
      if (isCountable) expect(await calls('hset')).toBeGreaterThan(told.taken)
    },
  )
})

// A release, the message of it, the waiter's try and its answer: a caller that leaves may do so in each of them.
describe('a waiter that leaves while the lock is being granted to it', () => {
  it('by its signal, at any turn: it has the lock or nobody has (I8)', async () => {
    const [holding, waiting] = [await rig.client(), await rig.client({ resyncInterval: 60_000 })]
    const outcomes = { got: 0, left: 0 }
    for (let round = 0; round < 240; round += 1) {
      const held = await soon(holding.getLock('order:42').acquire())
      const abort = new AbortController()
      const wait = waiting.getLock('order:42').acquire({ signal: abort.signal })
      const settled = wait.catch(() => null)
      if (round % 2 === 0) {
        await rig.heard('order:42')
      }
      void held.release()
      for (let turns = round % 30; turns > 0; turns -= 1) {
        await turn()
      }
      // Where Redis is slow, none of these is late enough for the grant.
      if (round % 30 === 29) await soon(settled)
      abort.abort()
      const hold: Hold | null = await soon(settled)
      outcomes[hold ? 'got' : 'left'] += 1
      await hold?.release()
      // Free within a second, whoever it was that had it.
      await eventually(async () => (await rig.admin.exists('order:42')) === 0, 1_000)
    }
    expect(outcomes.left).toBeGreaterThan(0)
    expect(outcomes.got).toBeGreaterThan(0)
  })

  it('by its limit, while its try is on a slow wire: it has the lock or nobody has (I8)', async () => {
    const proxy = await rig.proxy()
    const [holding, waiting] = [await rig.client(), await rig.client({}, rig.connection({}, proxy))]
    const names = Array.from({ length: 40 }, (_, i) => `lock:${i}`)
    const holds = await Promise.all(names.map((name) => holding.getLock(name).acquire()))
    proxy.delay(50)
    // Refused twice within 300 ms, and stands in the queue. A release at 400 ms grants it the lock, and the message of that
    // comes 50 ms later, while one limit after the other ends.
    const taking = names.map((name, i) =>
      waiting
        .getLock(name)
        .tryAcquire({ waitMs: 410 + 3 * i })
        .catch((error: unknown) => {
          // A machine that is busy may let no answer at all arrive in time: neither yes nor no.
          if (error instanceof RedisUnavailableError) return null
          throw error
        }),
    )
    await sleep(400)
    await Promise.all(holds.map((hold) => hold.release()))
    const taken = await soon(Promise.all(taking))
    const got = taken.filter((hold) => hold !== null)
    expect(got.length).toBeLessThan(names.length)
    await Promise.all(got.map((hold) => hold.release()))
    await eventually(async () => (await rig.admin.exists(...names)) === 0, 1_000)
  })
})
