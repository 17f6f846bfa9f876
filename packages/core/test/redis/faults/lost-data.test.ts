import { describe, expect, it } from '@jest/globals'
import { acquireScript } from '../../../src/scripts/lock.js'
import { belief, BELIEVES, failureOf, KNOWS_BETTER, nextLoss } from '../support/outcomes.js'
import { runsOf } from '../support/requests.js'
import { eventually, signalled, soon, useRig } from '../support/rig.js'

const NAME = 'order:42'
const LEASE_MS = 1_500
const MANY = 150

// It keeps nothing over a crash.
const rig = useRig()

const crash = async (): Promise<void> => {
  await rig.server.kill()
  await rig.server.restart()
}

describe.each<[string, boolean, () => Promise<unknown>]>([
  ['FLUSHALL', false, () => rig.admin.flushall()],
  ['a crash without persistence', true, crash],
])('%s', (_what, isAnotherPrimary, lose) => {
  it('is seen by verify at once; before any renewal only a primary that is another one tells (I1)', async () => {
    const [locks, others] = [await rig.client({ lockWatchdogTimeout: 90_000 }), await rig.client()]
    const hold = await locks.getLock(NAME).acquire()
    const told = isAnotherPrimary ? nextLoss(locks) : null
    await lose()
    const next = await soon(others.getLock(NAME).acquire())
    await told
    expect(belief(hold)).toEqual(isAnotherPrimary ? KNOWS_BETTER : BELIEVES)
    expect(await failureOf(hold.verify())).toMatchObject({ code: 'LOCK_LOST', reason: 'gone' })
    expect(belief(hold)).toEqual(KNOWS_BETTER)
    expect(await next.release()).toBe('released')
  })

  it('a loss of many holds tells each once, and renewal brings none back (I1, I6)', async () => {
    // Long enough that a busy machine asks before trust is over: this is about what Redis answers.
    const locks = await rig.client({ lockWatchdogTimeout: 3 * LEASE_MS })
    const names = Array.from({ length: MANY }, (_, i) => `lock:${i}`)
    const told: string[] = []
    locks.on('lost', ({ lockName, error }) => told.push(`${lockName} ${error.reason}`))
    const holds = await Promise.all(names.map((name) => locks.getLock(name).acquire()))
    await lose()
    await eventually(() => told.length >= MANY)
    expect(told.sort()).toEqual(names.map((name) => `${name} gone`).sort())
    expect(new Set(await Promise.all(holds.map((hold) => hold.release())))).toEqual(new Set(['lost']))
    expect(await rig.contents()).toEqual({})
  })
})

describe('what is forgotten with the locks', () => {
  it('is the tombstone: a copy of an acquire that comes after that keeps others out for one lease, no longer', async () => {
    const proxy = await rig.proxy()
    const locks = await rig.client({ lockWatchdogTimeout: LEASE_MS }, rig.connection({}, proxy))
    const lock = locks.getLock(NAME)
    const forgotten = signalled()
    const copy = proxy.copyLate(runsOf(acquireScript), forgotten.promise)
    const broken = proxy.loseReply(runsOf(acquireScript))
    const hold = await soon(lock.acquire())
    await broken.happened
    expect(await hold.release()).toBe('released')
    await rig.admin.flushall()
    forgotten.resolve()
    await copy.happened
    expect(await rig.admin.hgetall(NAME)).toEqual({ [hold.owner]: '1' })
    // Its owner is done with it, so nobody renews it.
    expect(await (await soon(lock.acquire())).release()).toBe('released')
  })
})
