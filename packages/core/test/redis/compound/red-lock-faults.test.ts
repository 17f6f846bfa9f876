import { describe, expect, it } from '@jest/globals'
import { seededRandom } from '@holdfast/faults/harness'
import { QuorumError, type CompoundHold, type LockClient, type RedLock } from '../../../src/index.js'
import { aborted, failureOf } from '../support/outcomes.js'
import { heal, redLockOf, silences, useNodes, type Node } from '../support/nodes.js'
import { eventually, signalled, soon } from '../support/rig.js'
import { useWarnings } from '../support/warnings.js'

const nodes = useNodes(3)
const NAME = 'order:42'
// Room for a loaded machine: what is shorter would fail nodes that only answer late.
const NODE_TIMEOUT_MS = 600
const LEASE_MS = 2_500
/** How soon a call ends that waits for no node for longer: with room for a loaded machine, below all other time-outs. */
const IN_TIME_MS = NODE_TIMEOUT_MS + 4_000

const over = (clients: readonly LockClient[]): RedLock =>
  redLockOf(clients, NAME, { nodeTimeoutMs: NODE_TIMEOUT_MS })

/** Connected, with the scripts loaded; commands have longer than anything here, so that limits are our own. */
async function participant(options: object = {}): Promise<LockClient[]> {
  const clients = await nodes.participant({ commandTimeout: 8_000, ...options })
  await over(clients).withLock(() => undefined)
  return clients
}

/** Held on every node: on a loaded machine one may answer too late, and what is broken then would be the second. */
async function holdAll(clients: readonly LockClient[], lock = over(clients)): Promise<CompoundHold> {
  const hold = await lock.acquire()
  if (hold.holds.length === nodes.all.length) {
    return hold
  }
  await hold.release()
  return holdAll(clients, lock)
}

/** A machine that is busy uses up the patience with nodes, and a try without a quorum of answers says nothing. */
async function isRefused(clients: readonly LockClient[], waitMs?: number): Promise<boolean> {
  try {
    return !(await over(clients).tryLock(waitMs))
  } catch (error) {
    if (!(error instanceof QuorumError)) throw error
    return isRefused(clients, waitMs)
  }
}

const faults: Record<string, (node: Node) => unknown> = {
  ...silences,
  slow: ({ proxy }) => proxy.delay(2 * NODE_TIMEOUT_MS),
}
const ways = Object.keys(faults)

const breakNodes = async (how: string, ...which: number[]): Promise<void> => {
  await Promise.all(which.map((index) => faults[how]!(nodes.at(index))))
}
const healNodes = (...which: number[]): Promise<unknown> => Promise.all(which.map((i) => heal(nodes.at(i))))
const nothingLeft = (): Promise<void> =>
  eventually(async () => (await nodes.keys()).length === 0, 4 * LEASE_MS)

/** The lease that at least two nodes still keep at this moment. */
async function quorumLease(of = nodes.all): Promise<number> {
  const [, second] = (await nodes.leases(NAME, of)).sort((a, b) => b - a)
  return second ?? 0
}

describe('RedLock with one node of three', () => {
  it.each(ways)(
    '%s: taken, trusted no longer than a quorum keeps it, refused to others, released, nothing stays (I1, I3, I8)',
    async (how) => {
      const [one, other] = [await participant(), await participant()]
      await breakNodes(how, 1)
      const startedAt = performance.now()
      const hold = await over(one).acquire({ leaseMs: 3 * LEASE_MS })
      expect(performance.now() - startedAt).toBeLessThan(IN_TIME_MS)
      expect(hold.holds).toHaveLength(2)
      const lease = await quorumLease([nodes.at(0), nodes.at(2)])
      expect(hold.trustedForMs).toBeLessThan(lease)
      expect(await isRefused(other)).toBe(true)
      const releasedAt = performance.now()
      expect(await hold.release()).toBe('released')
      expect(performance.now() - releasedAt).toBeLessThan(IN_TIME_MS)
      await soon(over(other).withLock((next) => next.verify()))
      await healNodes(1)
      await nothingLeft()
    },
  )

  it.each(ways)('%s while it is held: the hold goes on, is renewed and released (I1)', async (how) => {
    const clients = await participant({ lockWatchdogTimeout: 3_600, commandTimeout: 1_500 })
    const hold = await holdAll(clients)
    const [first] = hold.holds
    await breakNodes(how, 0)
    await eventually(() => first!.lossError !== null)
    expect(hold.signal.aborted).toBe(false)
    hold.ensure(100)
    await hold.verify()
    const releasedAt = performance.now()
    expect(await hold.release()).toBe('released')
    expect(performance.now() - releasedAt).toBeLessThan(IN_TIME_MS)
    await healNodes(0)
    await nothingLeft()
  })

  it('restarted empty while it is held: a member is lost, the lock is not, and nobody else gets in (I1)', async () => {
    const [one, other] = [await participant({ lockWatchdogTimeout: 3_000 }), await participant()]
    const lost = new Promise((resolve) => one[2]!.on('lost', resolve))
    const hold = await holdAll(one)
    await nodes.at(2).server.restart({ empty: true })
    expect(await isRefused(other, 300)).toBe(true)
    await soon(lost)
    expect(hold.lossError).toBe(null)
    await hold.verify()
    expect(await isRefused(other)).toBe(true)
    expect(await hold.release()).toBe('released')
  })
})

describe('a node of three that comes back empty while the lock is held', () => {
  const options = { lockWatchdogTimeout: 3_000 }
  const loseAndRetake = async (one: readonly LockClient[], hold: CompoundHold, index: number) => {
    const lost = new Promise((resolve) => one[index]!.on('lost', resolve))
    await nodes.at(index).server.restart({ empty: true })
    await soon(lost)
    await eventually(() => hold.holds.length === 3 && hold.holds.every(({ lossError }) => !lossError))
  }

  const warnings = useWarnings()
  it('is no loss to be told of while the others stand; that of two is', async () => {
    const one = await participant(options)
    const name = `${NAME}:unheard`
    const locks = one.map((client) => client.getLock(name))
    const hold = await holdAll(one, one[0]!.getRedLock(locks, { nodeTimeoutMs: NODE_TIMEOUT_MS }))
    const third = hold.holds[2]!
    await nodes.at(2).server.restart({ empty: true })
    await eventually(() => third.lossError !== null)
    expect(await warnings.delivered('HOLDFAST_LOST', name)).toEqual([])
    await eventually(() => hold.holds.length === 3)
    await Promise.all([0, 1].map((index) => nodes.at(index).server.restart({ empty: true })))
    await eventually(() => warnings.of('HOLDFAST_LOST', name).length === 1)
    expect(await hold.release()).toBe('lost')
  })

  it('is taken again at a renewal, and the hold outlives the loss of the others; a release frees it (I1, I8)', async () => {
    const [one, other] = [await participant(options), await participant()]
    const hold = await holdAll(one)
    const { owner, signal } = hold
    await loseAndRetake(one, hold, 2)
    const [, , third] = await nodes.holders(NAME)
    expect(third).toBe(hold.holds[2]!.owner)
    await nodes.at(0).server.kill()
    await new Promise((resolve) => setTimeout(resolve, 3_500))
    // Without the vote of the third the second alone would be no majority.
    hold.ensure()
    await hold.verify()
    expect({ aborted: signal.aborted, owner: hold.owner }).toEqual({ aborted: false, owner })
    expect(await isRefused(other)).toBe(true)
    expect(await hold.release()).toBe('released')
    await healNodes(0)
    await nothingLeft()
  })

  it('inside withLock is re-entered after two have come back, one after the other, and a sibling is refused (I1)', async () => {
    const one = await participant(options)
    await one[0]!.run(async () => {
      const [isInside, mayEnd] = [signalled(), signalled()]
      const inside = over(one).withLock(async (hold) => {
        if (hold.holds.length === 3) {
          await loseAndRetake(one, hold, 2)
          await loseAndRetake(one, hold, 1)
          await over(one).withLock((again) => expect(again.count).toBe(2), { waitMs: 2_000 })
        }
        isInside.resolve()
        await mayEnd.promise
        hold.ensure()
      })
      await isInside.promise
      expect(await over(one).tryAcquire()).toBe(null)
      mayEnd.resolve()
      await inside
    })
    expect(await nodes.keys()).toEqual([])
  })

  it('is left to whom it was granted meanwhile, and taken when they have released it (I1)', async () => {
    const [one, other] = [await participant(options), await participant()]
    const lost = new Promise((resolve) => one[2]!.on('lost', resolve))
    const hold = await holdAll(one)
    await nodes.at(2).server.restart({ empty: true })
    const theirs = await soon(other[2]!.getLock(NAME).acquire(), 5_000)
    await soon(lost)
    await eventually(() => hold.holds.length === 2)
    expect(await isRefused(other)).toBe(true)
    expect(theirs.signal.aborted).toBe(false)
    await theirs.release()
    await eventually(() => hold.holds.length === 3)
    expect(await hold.release()).toBe('released')
    expect(await nodes.keys()).toEqual([])
  })

  it('never makes a hold of one whose majority has ended (I1)', async () => {
    const one = await participant(options)
    const hold = await holdAll(one)
    const { signal } = hold
    const lost = aborted(signal)
    await Promise.all([1, 2].map((index) => nodes.at(index).server.restart({ empty: true })))
    await soon(lost, 5_000)
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    expect(hold.lossError).toMatchObject({ code: 'LOCK_LOST' })
    expect(await hold.release()).toBe('lost')
    await eventually(async () => (await nodes.keys()).length === 0)
  })
})

describe('RedLock with a majority of three', () => {
  it.each(ways)(
    '%s: QUORUM at once for one attempt, at the deadline for a wait, and nothing stays (I8)',
    async (how) => {
      const clients = await participant()
      await breakNodes(how, 0, 2)
      for (const waitMs of [0, 500]) {
        const startedAt = performance.now()
        const error = await failureOf(over(clients).acquire({ waitMs, leaseMs: LEASE_MS }), 8_000)
        const tookMs = performance.now() - startedAt
        expect(error).toBeInstanceOf(QuorumError)
        expect((error as QuorumError).nodes.map(({ outcome }) => outcome)).toEqual([
          'failed',
          'acquired',
          'failed',
        ])
        expect((error as QuorumError).nodes[0]).toMatchObject({ index: 0, clientId: clients[0]!.clientId })
        expect(tookMs).toBeGreaterThanOrEqual(waitMs)
        expect(tookMs).toBeLessThan(waitMs + IN_TIME_MS)
      }
      expect(await failureOf(over(clients).tryLock())).toMatchObject({ code: 'QUORUM', needed: 2 })
      await healNodes(0, 2)
      await nothingLeft()
      await soon(over(clients).withLock((hold) => hold.verify()))
    },
  )

  it.each(ways.filter((how) => how !== 'killed'))(
    '%s while it is held: the signal aborts before a quorum of leases can end, and others get in only then (I1, I3)',
    async (how) => {
      const [one, other] = [
        await participant({ lockWatchdogTimeout: LEASE_MS, commandTimeout: 200 }),
        await participant(),
      ]
      const hold = await over(one).acquire()
      const order: string[] = []
      hold.signal.addEventListener('abort', () => order.push('lost'))
      if (how === 'stopped (SIGSTOP)') {
        await breakNodes(how, 0, 2)
        await eventually(() => hold.signal.aborted)
        await healNodes(0, 2)
      } else {
        // Nobody gets through in time; the servers themselves tell when the leases end.
        await breakNodes(how, 0, 2)
        await eventually(async () => {
          const free = (await nodes.holders(NAME)).filter((owner) => owner === undefined)
          return free.length >= 2
        })
        // Whoever looks by then knows it, also where the process stood still.
        expect(hold.lossError).not.toBeNull()
        order.push('free')
        await healNodes(0, 2)
      }
      const next = await soon(over(other).acquire())
      order.push('taken')
      expect(order.filter((each) => each !== 'free')).toEqual(['lost', 'taken'])
      expect(order[0]).toBe('lost')
      expect(hold.trustedForMs).toBe(0)
      expect(await hold.release()).toBe('lost')
      await next.verify()
      await next.release()
      await nothingLeft()
    },
  )

  it('restarted empty while it is held: lost, told by the next renewal (I1)', async () => {
    const clients = await participant({ lockWatchdogTimeout: 900 })
    const hold = await over(clients).acquire()
    await Promise.all([0, 1].map((i) => nodes.at(i).server.restart({ empty: true })))
    await soon(aborted(hold.signal))
    expect(hold.lossError).toMatchObject({ code: 'LOCK_LOST', lockName: NAME })
    expect(await hold.release()).toBe('lost')
    await nothingLeft()
  })

  it.each(ways)('%s, then healed: a wait without a limit goes on and gets the lock', async (how) => {
    const clients = await participant()
    await breakNodes(how, 1, 2)
    const waiting = over(clients).acquire({ leaseMs: LEASE_MS })
    await new Promise((resolve) => setTimeout(resolve, 600))
    await healNodes(1, 2)
    expect(await (await soon(waiting)).release()).toBe('released')
    await nothingLeft()
  })

  it('silent for too long ends a wait without a limit, and a release and close() do not hang', async () => {
    const clients = await participant({ unavailableTimeoutMs: 1_000, lockWatchdogTimeout: 20_000 })
    const hold = await over(clients).acquire()
    await breakNodes('stopped (SIGSTOP)', 0, 1)
    const releasedAt = performance.now()
    expect(await failureOf(hold.release())).toMatchObject({ code: 'QUORUM' })
    expect(performance.now() - releasedAt).toBeLessThan(IN_TIME_MS)
    expect(await failureOf(over(clients).acquire())).toMatchObject({ code: 'QUORUM' })
    const closedAt = performance.now()
    await Promise.all(clients.map((client) => client.close({ graceMs: 0 })))
    // Two time-outs of a command, for what is still under way.
    expect(performance.now() - closedAt).toBeLessThan(8_000)
    await healNodes(0, 1)
    await Promise.all(nodes.all.map(({ server }) => server.command('FLUSHALL')))
  })
})

describe('RedLock: validity', () => {
  it('is never over-estimated: 30 acquisitions over wires of random delays, each compared with the nodes (I3)', async () => {
    const random = seededRandom(20_261_121).next
    const clients = await participant()
    let taken = 0
    for (let i = 0; i < 30; i += 1) {
      // Both ways, beyond the limit of a node now and then.
      nodes.all.forEach(({ proxy }) => {
        proxy.pass()
        proxy.delay(Math.floor(random() * 0.6 * NODE_TIMEOUT_MS))
      })
      const hold = await over(clients)
        .tryAcquire({ leaseMs: 800 })
        .catch(() => null)
      if (hold) {
        taken += 1
        const lease = await quorumLease()
        expect(hold.trustedForMs).toBeLessThanOrEqual(Math.max(0, lease))
        // Its answers may be too late as well; then it goes on in the background.
        await hold.release().catch(() => undefined)
      }
    }
    expect(taken).toBeGreaterThan(10)
    nodes.all.forEach(({ proxy }) => proxy.pass())
    await nothingLeft()
  })
})
