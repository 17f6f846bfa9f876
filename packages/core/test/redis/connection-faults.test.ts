import { describe, expect, it } from '@jest/globals'
import { INBOX_PREFIX } from '../../src/keys.js'
import { nextEvent } from './support/behind.js'
import { onNodeRedis } from './support/carrier.js'
import { accepted, handOver, PATHS, usePathToOneServer, type FaultyPath } from './support/faulty-path.js'
import { eventually } from './support/harness.js'
import { soon } from './support/rig.js'
import { useWarnings } from './support/warnings.js'

const NAME = 'order:42'
const CHANNEL = `redisson_lock__channel:{${NAME}}`
const subscribes = (bytes: Buffer): boolean => /subscribe/i.test(bytes.toString('latin1'))
/** A lost message is noticed by the message that comes next, or by the test's time limit. */
const NO_TICK = 60_000

describe.each(PATHS)('a path to %s', (_topology, use) => {
  const open = use()
  const warnings = useWarnings()

  const waiterBehind = async (path: FaultyPath, locks: Awaited<ReturnType<FaultyPath['client']>>) => {
    const hold = await (await path.other()).getLock(NAME).acquire()
    const waiting = locks.getLock(NAME).acquire()
    await eventually(async () => (await path.listeners(CHANNEL)) === 1, 15_000)
    return { hold, waiting }
  }

  it('whose connections for messages are half-open: they are replaced when a SUBSCRIBE is not confirmed (I4)', async () => {
    const path = await open()
    const locks = await path.client({ commandTimeout: 300, resyncInterval: NO_TICK, pushedGrants: false })
    // The first of a cluster are opened by who waits.
    const first = await waiterBehind(path, locks)
    await handOver(first.hold, first.waiting)
    await (await first.waiting).release()
    path.proxies.forEach((each) => each.halfOpenAll('subscribers'))
    const { hold, waiting } = await waiterBehind(path, locks)
    await handOver(hold, waiting)
    await (await waiting).release()
    expect(warnings.of('HOLDFAST_HALF_OPEN')).toEqual([])
  })

  it('whose idle connection for messages is half-open: a holder still hears that its lock was released by force', async () => {
    const path = await open()
    const locks = await path.client({ commandTimeout: 300, lockWatchdogTimeout: 3_000 })
    const hold = await locks.getLock(NAME).acquire()
    const inbox = `${INBOX_PREFIX}${locks.clientId}`
    await eventually(async () => (await path.listeners(inbox)) >= 1)
    const before = accepted(path)
    path.proxies.forEach((each) => each.halfOpenAll('subscribers'))
    // Renewals ask it, about once a second. A probe, and what takes its place.
    await eventually(() => accepted(path) >= before + 2, 15_000)
    const lost = nextEvent(locks, 'lost')
    await eventually(async () => (await path.listeners(inbox)) >= 1)
    await (await path.other()).getLock(NAME).forceUnlock()
    expect(await lost).toMatchObject({ owner: hold.owner, error: { reason: 'forced' } })
  })

  it('that closes each connection at SUBSCRIBE: it is tried again ever more rarely, and one warning says so', async () => {
    const path = await open()
    const faults = path.proxies.map((each) => each.loseRequest(subscribes, Infinity))
    const locks = await path.client({ resyncInterval: NO_TICK, commandTimeout: 300, pushedGrants: false })
    await eventually(() => warnings.of('HOLDFAST_NO_MESSAGES').length === 1, 15_000)
    const [before, startMs] = [accepted(path), performance.now()]
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    // After the third pause at the earliest: 400 ms to 800 ms, then 800 ms to 1,600 ms, then up to 2 s.
    const mostPerSecond = 2
    const seconds = (performance.now() - startMs) / 1_000
    expect(accepted(path) - before).toBeLessThanOrEqual(Math.ceil(mostPerSecond * seconds))
    faults.forEach((each) => each.cancel())
    const { hold, waiting } = await waiterBehind(path, locks)
    await handOver(hold, waiting)
    await (await waiting).release()
    expect(await warnings.delivered('HOLDFAST_NO_MESSAGES')).toHaveLength(1)
  })
})

describe('a path to one server', () => {
  const open = usePathToOneServer()
  const warnings = useWarnings()

  it('whose connections Holdfast opened, and are half-open: calls succeed again, and nothing is lost', async () => {
    const path = await open()
    const locks = await path.connected!({ commandTimeout: 300, lockWatchdogTimeout: 9_000 })
    const hold = await locks.getLock('held').acquire()
    const before = accepted(path)
    path.proxies[0]!.halfOpenAll()
    const next = await soon(locks.getLock(NAME).acquire({ waitMs: 20_000 }))
    expect(await hold.release()).toBe('released')
    expect(await next.release()).toBe('released')
    // A probe for both, and what takes the places of both.
    await eventually(() => accepted(path) >= before + 3)
    expect(warnings.of('HOLDFAST_HALF_OPEN')).toEqual([])
  })

  it('whose connection was given and is half-open: one warning names the option of the client that ends that', async () => {
    const path = await open()
    const locks = await path.client({ commandTimeout: 300, unavailableTimeoutMs: 300 })
    path.proxies[0]!.halfOpenAll()
    const outcomes: unknown[] = []
    await eventually(async () => {
      outcomes.push(
        await locks
          .getLock(NAME)
          .tryLock()
          .catch((error: unknown) => error),
      )
      return warnings.of('HOLDFAST_HALF_OPEN', 'socketTimeout').length === 1
    }, 15_000)
    expect(outcomes).not.toContain(true)
    const option = onNodeRedis ? 'pingInterval' : 'ioredis'
    expect(warnings.of('HOLDFAST_HALF_OPEN', option)).toHaveLength(1)
    path.proxies[0]!.cutAll()
    await eventually(async () => {
      const taken = await locks
        .getLock(NAME)
        .tryLock()
        .catch(() => false)
      return taken && (await locks.getLock(NAME).forceUnlock())
    }, 15_000)
    expect(await warnings.delivered('HOLDFAST_HALF_OPEN')).toHaveLength(1)
  })

  it('whose server is blocked for three time limits: 50 clients make one new connection each at most, and keep the old', async () => {
    const path = await open()
    const commandTimeout = 2_000
    const clients = await Promise.all(
      Array.from({ length: 50 }, () => path.connected!({ commandTimeout, lockWatchdogTimeout: 60_000 })),
    )
    const holds = await Promise.all(clients.map((each, i) => each.getLock(`held:${i}`).acquire()))
    const inboxes = clients.map((each) => `${INBOX_PREFIX}${each.clientId}`)
    await eventually(async () => {
      const counts = await Promise.all(inboxes.map((each) => path.listeners(each)))
      return counts.every((count) => count === 1)
    }, 20_000)
    const before = accepted(path)
    const [proxy] = path.proxies
    // Everything is accepted, and nothing is answered.
    proxy!.blackHole()
    const startMs = performance.now()
    while (performance.now() - startMs < 3 * commandTimeout) {
      await Promise.all(
        clients.map((each, i) =>
          each
            .getLock(`other:${i}`)
            .tryLock()
            .catch(() => false),
        ),
      )
    }
    const most = accepted(path)
    proxy!.pass()
    expect(most - before).toBeGreaterThan(0)
    expect(most - before).toBeLessThanOrEqual(clients.length)
    await Promise.all(holds.map(async (hold) => expect(await hold.release()).toBe('released')))
    // Their old connections: none was dropped.
    expect(accepted(path)).toBeLessThanOrEqual(before + clients.length)
  })
})
