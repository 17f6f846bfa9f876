import { describe, expect, it } from '@jest/globals'
import { type LockClient, type MultiLock } from '../../../src/index.js'
import { aborted, failureOf } from '../support/outcomes.js'
import { heal, silences, useNodes } from '../support/nodes.js'
import { eventually, soon } from '../support/rig.js'
import { SlowClock } from '../support/slow-clock.js'

const nodes = useNodes(3)
const NAME = 'order:42'

const over = (clients: readonly LockClient[]): MultiLock =>
  clients[0]!.getMultiLock(...clients.map((client) => client.getLock(NAME)))

describe('multi lock over three servers', () => {
  it('is one lock: whoever has one member keeps it from everybody else, and release frees all', async () => {
    // On the clock of the other a wait of 1 ms takes 100, and a refusal has 25 s to come.
    const [one, other] = [
      await nodes.participant(),
      await nodes.participant({ runtime: new SlowClock(true) }),
    ]
    const hold = await over(one).acquire()
    expect(await nodes.holders(NAME)).toEqual(hold.holds.map(({ owner }) => owner))
    expect(await over(other).tryLock(1)).toBe(false)
    expect(await hold.release()).toBe('released')
    await over(other).withLock((next) => next.verify())
  })

  it.each(Object.keys(silences))(
    'with one of them %s: an attempt fails with REDIS_UNAVAILABLE in time, and nothing stays on any (I8)',
    async (how) => {
      // Longer than any wait here: what ends in time ends by its own limit.
      const clients = await nodes.participant({ commandTimeout: 8_000 })
      await over(clients).withLock(() => undefined)
      await silences[how]!(nodes.at(1))
      const startedAt = performance.now()
      expect(await failureOf(over(clients).acquire({ waitMs: 300 }), 9_000)).toMatchObject({
        code: 'REDIS_UNAVAILABLE',
        lockName: NAME,
      })
      // The wait, and once more the time for an answer: the rest is room for a loaded machine.
      expect(performance.now() - startedAt).toBeLessThan(6_000)
      await heal(nodes.at(1))
      await eventually(async () => (await nodes.keys()).length === 0)
      await soon(over(clients).withLock((hold) => hold.verify()))
    },
  )

  it('with one of them slow: taken, and trust counts from the sending to the slowest (I3)', async () => {
    const clients = await nodes.participant()
    await over(clients).withLock(() => undefined)
    nodes.at(2).proxy.delay(100)
    const hold = await over(clients).acquire({ leaseMs: 5_000 })
    expect(hold.trustedForMs).toBeLessThan(5_000 - 190)
    const leases = await nodes.leases(NAME)
    expect(hold.trustedForMs).toBeLessThan(Math.min(...leases))
    await hold.release()
  })

  it('with one of them silent until the lease of the other is over: taken anew, not given lost (I3)', async () => {
    const clients = await nodes.participant({ commandTimeout: 8_000 })
    await over(clients).withLock(() => undefined)
    await nodes.at(1).server.pause()
    const acquiring = over(clients).acquire({ leaseMs: 2_000 })
    const isTaken = async (): Promise<boolean> => (await nodes.holders(NAME, [nodes.at(0)]))[0] !== undefined
    await eventually(isTaken)
    await eventually(async () => !(await isTaken()))
    nodes.at(1).server.resume()
    const hold = await soon(acquiring)
    expect([hold.lossError, hold.trustedForMs > 0]).toEqual([null, true])
    expect(await hold.release()).toBe('released')
  })

  it('with one of them restarted empty: lost, told by the next renewal (I1)', async () => {
    const clients = await nodes.participant({ lockWatchdogTimeout: 900 })
    const hold = await over(clients).acquire()
    await nodes.at(0).server.restart({ empty: true })
    await soon(aborted(hold.signal))
    expect(hold.lossError).toMatchObject({ code: 'LOCK_LOST', lockName: NAME })
    expect(await hold.release()).toBe('lost')
  })

  it('goes on waiting while one is silent, holding nothing of the others, and gets the lock when it answers', async () => {
    const clients = await nodes.participant({ commandTimeout: 200 })
    await over(clients).withLock(() => undefined)
    await nodes.at(1).server.pause()
    const waiting = over(clients).acquire()
    await eventually(async () => {
      const holders = await nodes.holders(NAME, [nodes.at(0), nodes.at(2)])
      return holders.every((each) => each === undefined)
    })
    nodes.at(1).server.resume()
    await (await soon(waiting)).release()
  })
})
