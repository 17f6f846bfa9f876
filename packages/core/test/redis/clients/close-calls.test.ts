import { expect } from '@jest/globals'
import { getElection } from '../../../src/entries/election/index.js'
import type { LockClient, LockError } from '../../../src/index.js'
import { exclusive } from '../../../src/entries/schedule/index.js'
import { getShare } from '../../../src/entries/share/index.js'
import { adopt, handOver } from '../../../src/entries/travel/index.js'
import type { Script } from '../../../src/redis/script.js'
import { countDownScript } from '../../../src/scripts/latch.js'
import { releaseScript } from '../../../src/scripts/lock.js'
import { releaseExpirableScript } from '../../../src/scripts/permit-semaphore.js'
import { releasePermitsScript } from '../../../src/scripts/semaphore.js'
import { stateOf } from '../support/carrier.js'
import { lockKinds } from '../support/lock-kinds.js'
import { aborted, failureOf } from '../support/outcomes.js'
import { runsAnything, runsOf } from '../support/requests.js'
import { eventually, signalled, sleep, soon } from '../support/rig.js'
import { describe, it, own, useRig } from '../support/together.js'

const rig = useRig()
const proxy = own(() => rig.proxy())

const BRIEF = { commandTimeout: 200 } as const

const CALLS: readonly [string, (locks: LockClient) => Promise<unknown>][] = [
  ['isLocked()', (locks) => locks.getLock('a').isLocked()],
  ['forceUnlock()', (locks) => locks.getLock('a').forceUnlock()],
  ['inspect()', (locks) => locks.getLock('a').inspect()],
  ['availablePermits()', (locks) => locks.getSemaphore('s').availablePermits()],
]

describe('a client that is closed while a call waits for Redis', () => {
  it.each(CALLS)('a client that closes while Redis is slow: %s is answered', async (_, call) => {
    const locks = await rig.client({}, rig.connection({}, proxy))
    await rig.admin.set('s', 0)
    proxy.delay(30)
    const answer = call(locks)
    await locks.close()
    expect([false, null, 0]).toContain(await soon(answer))
    await rig.admin.del('s')
  })

  it.each(CALLS)('a client that closes while Redis does not answer: %s ends', async (_, call) => {
    const locks = await rig.client(BRIEF, rig.connection({}, proxy))
    proxy.blackHole()
    const failure = failureOf(call(locks))
    await locks.close({ graceMs: 0 })
    expect(await soon(failure)).toMatchObject({ code: 'REDIS_UNAVAILABLE', outcome: 'unknown' })
    proxy.pass()
  })

  it.each(CALLS)('a client that closes while Redis is not there: %s ends', async (_, call) => {
    const connection = rig.connection({}, proxy)
    const locks = await rig.client(BRIEF, connection)
    proxy.refuse()
    await eventually(() => stateOf(connection) !== 'ready')
    const failure = failureOf(call(locks))
    await locks.close({ graceMs: 0 })
    // Its own time and that of close are over at the same moment.
    const { code } = (await soon(failure)) as LockError
    expect(['REDIS_UNAVAILABLE', 'CLIENT_CLOSED']).toContain(code)
    proxy.pass()
  })

  it('a release that is tried again, while Redis does not answer, ends with the client', async () => {
    const options = { ...BRIEF, unavailableTimeoutMs: 60_000 }
    const locks = await rig.client(options, rig.connection({}, proxy))
    const hold = await locks.getLock('a').acquire({ leaseMs: 60_000 })
    proxy.blackHole()
    const failure = failureOf(hold.release())
    await locks.close({ graceMs: 0 })
    expect(await soon(failure)).toMatchObject({ code: 'REDIS_UNAVAILABLE', outcome: 'unknown' })
    proxy.pass()
    await rig.admin.del('a')
  })
})

/** Every call that can give a hold, a permit, a term or a result. */
const GIVING: readonly [string, (locks: LockClient, token: string) => Promise<unknown>][] = [
  ...lockKinds.map((kind): [string, (locks: LockClient) => Promise<unknown>] => [
    `acquire() of a ${kind.name}`,
    (locks) => kind.of(locks, 'a').acquire(),
  ]),
  ['tryAcquire()', (locks) => locks.getLock('a').tryAcquire()],
  ['lock()', (locks) => locks.getLock('a').lock()],
  ['tryLock()', (locks) => locks.getLock('a').tryLock()],
  ['withLock()', (locks) => locks.getLock('a').withLock((hold) => hold)],
  ['acquire() of a thread', (locks) => locks.thread().getLock('a').acquire()],
  [
    'a re-entry',
    (locks) =>
      locks.run(async () => {
        await locks.getLock('a').acquire()
        return locks.getLock('a').acquire()
      }),
  ],
  ['withPermits()', (locks) => locks.getSemaphore('s').withPermits(() => 'done')],
  ['acquire() of a permit', (locks) => locks.getPermitExpirableSemaphore('p').acquirePermit({ renew: true })],
  [
    'lead()',
    async (locks) => {
      let last: unknown
      await getElection(locks, 'e').lead((term) => {
        last = term
        return aborted(term.signal)
      })
      return last
    },
  ],
  ['share.run()', (locks) => getShare(locks, 'r').run('a', () => 'done')],
  ['a task of exclusive()', (locks) => exclusive('x', { locks }, () => 'done')()],
  ['adopt()', (locks, token) => adopt(locks, token)],
]

interface Given {
  readonly code?: string
  readonly signal?: AbortSignal
  readonly trustedForMs?: number
  /** Same as for `withLock`, which had ended before the client closed. */
  readonly wasReleased?: boolean
}

// The n-th command of the call is on its way: the client is closing when the reply comes.
describe.each([1, 2, 3])('a client that is closed at command %i of a call', (nth) => {
  it.each(GIVING)('leaves nobody with anything that lasts: %s (I1, I5)', async (of, call) => {
    const [locks, other] = [await rig.client({}, rig.connection({}, proxy)), await rig.client()]
    locks.on('lost', () => undefined)
    const [permits, leased] = [other.getSemaphore('s'), other.getPermitExpirableSemaphore('p')]
    await permits.trySetPermits(1)
    await leased.trySetPermits(1)
    const token = await handOver(await other.getLock('travels').acquire())
    proxy.delay(5)
    let sent = 0
    const closings: Promise<void>[] = []
    const watching = proxy.loseReply((bytes) => {
      sent += runsAnything(bytes) ? 1 : 0
      if (sent === nth && closings.length === 0) closings.push(locks.close({ graceMs: 0 }))
      return false
    })
    const answer = call(locks, token).catch((error: unknown) => error)
    // A call of fewer commands has ended, or waits, as a campaign does.
    await Promise.race([answer, sleep(150)])
    await soon(closings[0] ?? locks.close({ graceMs: 0 }))
    const given = ((await soon(answer)) ?? {}) as Given
    watching.cancel()
    proxy.pass()
    if (given instanceof Error) {
      expect(['CLIENT_CLOSED', 'LOCK_LOST']).toContain(given.code)
    } else if (given.signal && given.wasReleased !== true) {
      expect([given.signal.aborted, given.trustedForMs ?? 0]).toEqual([true, 0])
    }
    // Without another try: what was taken was released.
    for (const name of ['a', 'b', 'c', 'e', 'x', 'share:r:a']) {
      expect([name, await other.getLock(name).isLocked()]).toEqual([name, false])
    }
    expect([await permits.availablePermits(), await leased.availablePermits()]).toEqual([1, 1])
    if (of === 'adopt()') expect(await other.getLock('travels').isLocked()).toBe(false)
    else await other.getLock('travels').forceUnlock()
    await rig.admin.del('s', 'p')
  })
})

describe('close', () => {
  it('waits for a release of the last holder that has to be sent again (I5)', async () => {
    const locks = await rig.client({}, rig.connection({}, proxy))
    const [inside, leave] = [signalled(), signalled()]
    const work = locks.getLock('a').withLock(() => {
      inside.resolve()
      return leave.promise
    })
    await inside.promise
    const lost = proxy.loseRequest(runsOf(releaseScript))
    const closing = locks.close()
    leave.resolve()
    await lost.happened
    await closing
    expect(await rig.admin.exists('a')).toBe(0)
    await work
  })

  const counted: Record<string, readonly [Script, (locks: LockClient) => Promise<() => Promise<unknown>>]> = {
    "a semaphore's release": [
      releasePermitsScript,
      async (locks) => {
        const semaphore = locks.getSemaphore('name')
        await semaphore.trySetPermits(0)
        return () => semaphore.release()
      },
    ],
    "a permit's release": [
      releaseExpirableScript,
      async (locks) => {
        const semaphore = locks.getPermitExpirableSemaphore('name')
        await semaphore.trySetPermits(1)
        const id = await semaphore.acquire()
        return () => semaphore.release(id)
      },
    ],
    "a latch's countDown": [
      countDownScript,
      async (locks) => {
        const latch = locks.getCountDownLatch('name')
        await latch.trySetCount(2)
        return () => latch.countDown()
      },
    ],
  }

  it.each(Object.keys(counted))('waits for %s that has to be sent again (I2, I5)', async (what) => {
    const [script, prepare] = counted[what]!
    const locks = await rig.client({}, rig.connection({ retryStrategy: () => 200 }, proxy))
    const send = await prepare(locks)
    const lost = proxy.loseRequest(runsOf(script))
    const sent = send()
    await lost.happened
    await locks.close()
    expect(await rig.admin.getdel('name')).toBe('1')
    await soon(sent)
  })
})
