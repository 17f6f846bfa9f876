import { describe, expect, it } from '@jest/globals'
import { RedisUnavailableError, type Hold } from '../../../src/index.js'
import { belief, failureOf } from '../support/outcomes.js'
import { eventually, sleep, soon, useRig } from '../support/rig.js'

const LEASE_MS = 1_200
const names = (what: string): string[] => Array.from({ length: 15 }, (_, i) => `${what}:${i}`)

const rig = useRig()

/** A holder behind a wire that may fall silent, and somebody with a wire of his own. */
const open = async () => {
  const proxy = await rig.proxy()
  const connection = rig.connection({}, proxy)
  const locks = await rig.client({ lockWatchdogTimeout: LEASE_MS, commandTimeout: 200 }, connection)
  const others = await rig.client({ resyncInterval: 20_000 })
  const lost: string[] = []
  locks.on('lost', ({ lockName, error }) => lost.push(`${lockName} ${error.reason}`))
  return { proxy, locks, others, lost }
}

describe('a silent partition between a holder and Redis', () => {
  it.each([300, 450])(
    'a silent partition between a holder and Redis that begins %i ms after the acquire: nobody believes in a lock that somebody else has (I1, I3)',
    async (afterMs) => {
      const { proxy, locks, others, lost } = await open()
      const [wanted, unwanted] = [names('wanted'), names('unwanted')]
      const holds = await Promise.all(wanted.map((name) => locks.getLock(name).acquire()))
      await Promise.all(unwanted.map((name) => locks.getLock(name).acquire()))
      const believers: string[] = []
      const taking = holds.map(async (hold): Promise<Hold> => {
        const next = await others.getLock(hold.lockName).acquire()
        const { trusted, ensured } = belief(hold)
        if (trusted || ensured) {
          believers.push(hold.lockName)
        }
        return next
      })
      // Around a third of the lease, so that renewals are on their way, answered or not.
      await sleep(afterMs)
      proxy.blackHole()
      const strangers = await soon(Promise.all(taking))
      expect(believers).toEqual([])
      await eventually(() => lost.length === wanted.length + unwanted.length)
      expect(lost.sort()).toEqual([...wanted, ...unwanted].map((name) => `${name} expired`).sort())

      // Everything that was held back arrives now: renewals of what is lost, and what was released.
      proxy.pass()
      await eventually(async () => (await rig.admin.exists(...unwanted)) === 0, 1_000)
      for (const stranger of strangers) {
        expect(await rig.admin.hgetall(stranger.lockName)).toEqual({ [stranger.owner]: '1' })
        expect(await stranger.release()).toBe('released')
      }
      expect(new Set(await Promise.all(holds.map((hold) => hold.release())))).toEqual(new Set(['lost']))
      expect(await locks.getLock('again').tryLock()).toBe(true)
      await locks.getLock('again').forceUnlock()
    },
  )
})

describe('a half-open connection, of which nobody tells the client', () => {
  it('is a partition: lost before the lease ends, then others get in, and calls fail until it ends (I1, I3)', async () => {
    const { proxy, locks, others, lost } = await open()
    const hold = await locks.getLock('held').acquire()
    const taking = others.getLock('held').acquire()
    proxy.halfOpenAll()
    const next = await soon(taking)
    expect(belief(hold)).toMatchObject({ trusted: false, ensured: false })
    await eventually(() => lost.length === 1)
    expect(lost).toEqual(['held expired'])
    const error = await failureOf(locks.getLock('another').tryLock())
    expect(error).toBeInstanceOf(RedisUnavailableError)
    expect(error).toMatchObject({ outcome: 'unknown' })
    // TCP does this in the end, after minutes.
    proxy.cutAll()
    await eventually(() =>
      locks
        .getLock('third')
        .tryLock()
        .catch(() => false),
    )
    await locks.getLock('third').forceUnlock()
    await next.verify()
    expect(await next.release()).toBe('released')
    await eventually(async () => (await rig.admin.exists('another')) === 0, 1_000)
  })
})
