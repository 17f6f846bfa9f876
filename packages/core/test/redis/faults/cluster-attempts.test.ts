import { describe, expect, it } from '@jest/globals'
import type { LockClientOptions, RedisUnavailableError } from '../../../src/index.js'
import { useClusterRig } from '../support/cluster-rig.js'
import { eventually } from '../support/rig.js'
import { failureOf } from '../support/outcomes.js'

// All in one slot, the one that moves.
const NAMES = Array.from({ length: 8 }, (_, i) => `order:${i}{moving}`)
const NAME = NAMES[0]!
const ENOUGH_SCRIPTS = 40
// A Cluster of its own patience gives up at the second refusal.
const IMPATIENT = { maxRedirections: 2, retryDelayOnTryAgain: 1 }

/** Nobody waits in the queue here: what one attempt meets is all that its caller hears. */
describe('one attempt, while the slot of its lock moves', () => {
  const rig = useClusterRig({ replicasPerPrimary: 1, nodeTimeoutMs: 15_000 })

  /** So many scripts have been served or refused by now that callers have met what the slot is like. */
  const isMet = async (): Promise<void> => {
    let sent = 0
    await rig.scriptsSent()
    await eventually(async () => (sent += await rig.scriptsSent()) >= ENOUGH_SCRIPTS, 15_000)
  }

  it.each<[string, LockClientOptions, Record<string, unknown>]>([
    ['', {}, {}],
    [', on a Cluster that follows little', {}, IMPATIENT],
    [', with acks', { replicas: { acks: 1, timeoutMs: 15_000 } }, {}],
  ])('is answered%s', async (_, options, clusterOptions) => {
    const locks = await rig.client({ ...options, commandTimeout: 20_000 }, rig.connection(clusterOptions))
    const failures: unknown[] = []
    const taken = new Set<string>()
    let isOver = false
    const callers = [...NAMES, ...NAMES].map(async (name) => {
      while (!isOver) {
        const hold = await locks
          .getLock(name)
          .tryAcquire({ waitMs: 0 })
          .catch((error: unknown) => void failures.push(error))
        if (hold) {
          taken.add(name)
          await hold.release()
        }
      }
    })
    for (let moves = 0; moves < 3; moves += 1) {
      const migration = await rig.cluster.beginMigration(rig.slotOf(NAME), await rig.anotherPrimary(NAME))
      await isMet()
      await migration.moveKeys()
      await isMet()
      await migration.finish()
      taken.clear()
      await eventually(() => taken.size === NAMES.length, 15_000)
    }
    isOver = true
    await Promise.all(callers)
    expect(failures).toEqual([])
  })

  it('is refused when commandTimeout is over, and has left nothing', async () => {
    const locks = await rig.client({ commandTimeout: 300 }, rig.connection(IMPATIENT))
    const migration = await rig.cluster.beginMigration(rig.slotOf(NAME), await rig.anotherPrimary(NAME))
    // The time may also end while a try is under way, whose outcome is unknown then.
    let failure: unknown
    await eventually(async () => {
      failure = await failureOf(locks.getLock(NAME).tryAcquire({ waitMs: 0 }))
      expect(failure).toMatchObject({ code: 'REDIS_UNAVAILABLE', transient: true })
      return (failure as RedisUnavailableError).outcome === 'refused'
    }, 15_000)
    expect((failure as Error).message).toMatch(/^Redis refused the command: (TRYAGAIN|ASK|MOVED) /)
    await migration.moveKeys()
    await migration.finish()
    const hold = await locks.getLock(NAME).acquire()
    expect(await hold.release()).toBe('released')
  })

  it('one attempt is served where it is while its slot moves, with acks', async () => {
    const locks = await rig.client({ replicas: { acks: 1, timeoutMs: 15_000 }, commandTimeout: 20_000 })
    const hold = await locks.getLock(NAME).acquire({ leaseMs: 60_000 })
    const migration = await rig.cluster.beginMigration(rig.slotOf(NAME), await rig.anotherPrimary(NAME))
    await migration.moveKeys()
    await hold.extend(90_000)
    expect(hold.trustedForMs).toBeGreaterThan(60_000)
    await migration.finish()
    expect(await hold.release()).toBe('released')
  })

  it('finds a new primary that does not know the script', async () => {
    const connection = rig.connection({ maxRedirections: 1, slotsRefreshInterval: 3_600_000 })
    const locks = await rig.client({}, connection)
    await (await locks.getLock(NAME).acquire()).release()
    await rig.cluster.migrateSlot(rig.slotOf(NAME), await rig.anotherPrimary(NAME))
    await Promise.all(rig.running.map((node) => node.command('SCRIPT', 'FLUSH')))
    const hold = await locks.getLock(NAME).tryAcquire({ waitMs: 0 })
    expect(await hold?.release()).toBe('released')
  })
})
