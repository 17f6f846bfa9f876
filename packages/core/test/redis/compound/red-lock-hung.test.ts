import { describe, expect, it } from '@jest/globals'
import { LockTimeoutError, type Lock, type LockClient, type RedLock } from '../../../src/index.js'
import { failureOf } from '../support/outcomes.js'
import { useNodes } from '../support/nodes.js'
import { eventually, soon } from '../support/rig.js'
import { Stalls } from '../support/stalls.js'

const NAME = 'order:42'
const NODE_TIMEOUT_MS = 2_000
/** Commands have longer than anything here, so that limits are those of the RedLock. */
const PATIENT = { commandTimeout: 9_000 }

interface Made {
  readonly nodeTimeoutMs?: number
  readonly kind?: 'getLock' | 'getFairLock'
}

const over = (clients: readonly LockClient[], { kind = 'getLock', ...options }: Made = {}): RedLock =>
  clients[0]!.getRedLock(
    clients.map((client): Lock => client[kind](NAME)),
    options,
  )

describe('RedLock of five nodes, of which some hang (SIGSTOP), wanted by eight clients', () => {
  const nodes = useNodes(5)
  // The longest of a machine at rest is 0.7 s; without the rules of this file hardly anybody gets in within it.
  const LONGEST_WAIT_MS = 10_000
  const TURNS = 6

  it.each([
    ['getLock', 1],
    ['getLock', 2],
    ['getFairLock', 1],
    ['getFairLock', 2],
  ] as const)('%s, %d of them: nobody waits for long, never two inside (I1)', async (kind, hung) => {
    // Patience that a loaded machine has used up counts as a node that hangs: here only those that do.
    const clients = await Promise.all(Array.from({ length: 8 }, () => nodes.participant()))
    const locks = clients.map((each) => over(each, { kind, nodeTimeoutMs: 600 }))
    for (const lock of locks) {
      await lock.withLock(() => undefined)
    }
    // Those at which all would wait first.
    await Promise.all([0, 1].slice(0, hung).map((i) => nodes.at(i).server.pause()))
    let inside = 0
    const seen = { entries: 0, overlaps: 0 }
    const callTurns = async (lock: RedLock): Promise<void> => {
      for (let i = 0; i < TURNS; i += 1) {
        await lock.withLock(
          async (hold) => {
            inside += 1
            seen.entries += 1
            seen.overlaps += inside > 1 ? 1 : 0
            await new Promise((resolve) => setTimeout(resolve, 5))
            hold.ensure()
            inside -= 1
          },
          { waitMs: LONGEST_WAIT_MS },
        )
      }
    }
    await Promise.all([...locks, ...locks].map(callTurns))
    expect(seen).toEqual({ entries: 2 * 8 * TURNS, overlaps: 0 })
  })

  it('a slow node that is not waited for is no node that fails: the wait ends because somebody else has one', async () => {
    const [one, other] = [await nodes.participant(PATIENT), await nodes.participant()]
    const lock = over(one, { nodeTimeoutMs: NODE_TIMEOUT_MS })
    await lock.withLock(() => undefined)
    await Promise.all([2, 3].map((i) => nodes.at(i).server.pause()))
    // Until those two are passed over.
    await eventually(async () => {
      const startedAt = performance.now()
      await lock.withLock(() => undefined)
      return performance.now() - startedAt < NODE_TIMEOUT_MS / 8
    }, 15_000)
    const vote = await other[1]!.getLock(NAME).acquire()
    // Slower than the quarter of its time that it has where it decides nothing.
    nodes.at(4).proxy.delay(0.4 * NODE_TIMEOUT_MS)
    const error = await failureOf(lock.acquire({ waitMs: 0.35 * NODE_TIMEOUT_MS }))
    expect(error).toBeInstanceOf(LockTimeoutError)
    expect((error as Error).message).toContain('Its reply no longer mattered.')
    nodes.at(4).proxy.pass()
    ;[2, 3].forEach((i) => nodes.at(i).server.resume())
    await vote.release()
    await eventually(async () => (await nodes.keys()).length === 0)
  })

  it('a caller that is refused releases its votes without waiting for a node that hangs', async () => {
    const [one, other] = [await nodes.participant(PATIENT), await nodes.participant()]
    const lock = over(one, { nodeTimeoutMs: 8_000 })
    await lock.withLock(() => undefined)
    const holds = await Promise.all([0, 1, 2].map((i) => other[i]!.getLock(NAME).acquire()))
    nodes.at(4).proxy.blackHole()
    const waiting = lock.acquire()
    const isFree = async (): Promise<boolean> => (await nodes.holders(NAME))[3] === undefined
    await eventually(async () => !(await isFree()))
    await eventually(isFree)
    await Promise.all(holds.map((hold) => hold.release()))
    const hold = await soon(waiting)
    expect(hold.holds).toHaveLength(4)
    await hold.release()
    nodes.at(4).proxy.pass()
    await eventually(async () => (await nodes.keys()).length === 0)
  })
})

describe('RedLock of three nodes, of which one does not answer in time', () => {
  const nodes = useNodes(3)

  it('a quorum does not wait for it; it is passed over, and counts again when it answers', async () => {
    const clients = await nodes.participant(PATIENT)
    const lock = over(clients, { nodeTimeoutMs: NODE_TIMEOUT_MS })
    await lock.withLock(() => undefined)
    await nodes.at(0).server.pause()
    const acquire = async (): Promise<{ tookMs: number; held: number }> => {
      const startedAt = performance.now()
      const stalls = new Stalls()
      const hold = await lock.acquire()
      const tookMs = performance.now() - startedAt - stalls.end()
      await hold.release()
      return { tookMs, held: hold.holds.length }
    }
    // For what decides nothing it has a quarter of its time, until all of it is over.
    const { tookMs, held } = await acquire()
    expect([held, tookMs < 0.9 * NODE_TIMEOUT_MS]).toEqual([2, true])
    await eventually(async () => (await acquire()).tookMs < NODE_TIMEOUT_MS / 5, 15_000)
    // The earlier questions have ended, too: from here on nothing but the background asks.
    await new Promise((resolve) => setTimeout(resolve, NODE_TIMEOUT_MS))
    nodes.at(0).server.resume()
    await eventually(async () => (await acquire()).held === 3)
  })

  it('what it grants when the outcome is decided is released while the lock is held (I5)', async () => {
    const clients = await nodes.participant(PATIENT)
    const lock = over(clients, { nodeTimeoutMs: 2_000 })
    await lock.withLock(() => undefined)
    nodes.at(2).proxy.delay(700)
    const hold = await lock.acquire()
    expect(hold.holds).toHaveLength(2)
    const isFree = async (): Promise<boolean> => (await nodes.holders(NAME))[2] === undefined
    await eventually(async () => !(await isFree()))
    await eventually(isFree)
    await hold.verify()
    nodes.at(2).proxy.pass()
    expect(await hold.release()).toBe('released')
  })

  it('a wait that others had too few nodes to end says that nobody is known to have it', async () => {
    const [one, other] = [await nodes.participant(), await nodes.participant()]
    const lock = over(one, { nodeTimeoutMs: NODE_TIMEOUT_MS })
    await lock.withLock(() => undefined)
    const vote = await other[1]!.getLock(NAME).acquire()
    await nodes.at(2).server.pause()
    const error = await failureOf(lock.acquire({ waitMs: 1_500 }))
    expect(error).toBeInstanceOf(LockTimeoutError)
    expect((error as Error).message).toMatch(
      /: no known holder, other contenders have nodes: node 0 acquired; node 1 is held by /,
    )
    nodes.at(2).server.resume()
    await vote.release()
    await eventually(async () => (await nodes.keys()).length === 0)
  })
})
