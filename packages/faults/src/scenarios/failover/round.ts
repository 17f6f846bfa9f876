import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LockClient, LockHold } from '@holdfast/core'
import type { FaultProxy, RedisReplication, RedisServer } from '@holdfast/faults/harness'
import type { SeededRandom } from '../../run/random.js'
import { withClients } from './clients.js'

const KEPT_LEASE_MS = 15_000
const RESYNC_MS = 60_000

/** A lock that the new primary did not have. */
export interface Loss {
  /** After the fail-over; null: not within two leases. */
  readonly toldMs: number | null
  readonly reason: string | null
  /** When another client had it; null: not within two leases. */
  readonly takenMs: number | null
}

export interface Round {
  readonly losses: readonly Loss[]
  /** Locks that the replica had, and that were lost all the same. */
  readonly keptLost: number
  /** Locks that another client had taken and did not have in the end. */
  readonly nextHarmed: number
  /** From the death of one primary to the first moment of the next. */
  readonly downMs: number
  /** How long this process ran late at most. */
  readonly stallMs: number
}

interface Setting {
  readonly replication: RedisReplication
  /** Where clients find the primary. */
  readonly address: FaultProxy
  readonly leaseMs: number
  readonly locks: number
  readonly random: SeededRandom
  readonly interrupted: AbortSignal
}

/** One fail-over: some locks are on the replica, others are not. */
export const failOverOnce = (setting: Setting): Promise<Round> => {
  const { address, leaseMs } = setting
  // A replica's copy of a lock ends one lease after the last renewal that it saw.
  const leases = [leaseMs, leaseMs, Math.max(leaseMs, KEPT_LEASE_MS)]
  return withClients(
    leases.map((lockWatchdogTimeout) => ({
      port: address.port,
      options: { lockWatchdogTimeout, resyncInterval: RESYNC_MS },
    })),
    ([holder, rival, keeper]) =>
      observe(setting, { holder, rival, keeper } as Record<'holder' | 'rival' | 'keeper', LockClient>),
  )
}

const observe = async (
  { replication, address, leaseMs, locks, random, interrupted }: Setting,
  { holder, rival, keeper }: Record<'holder' | 'rival' | 'keeper', LockClient>,
): Promise<Round> => {
  const [replica] = replication.replicas as [RedisServer]
  const kept = await takeAll(keeper, 'kept', locks)
  await replication.healReplication()
  replication.cutReplication()
  const lost = await takeAll(holder, 'lost', locks)
  const watched = lost.map((hold) => watch(hold, rival))
  // Fail-overs come at any moment between two renewals.
  await sleep(random.between(0, leaseMs / 3), undefined, { signal: interrupted })
  const delays = monitorEventLoopDelay({ resolution: 5 })
  delays.enable()
  try {
    const onReplica = await replica.command('EXISTS', ...lost.map(({ lockName }) => lockName))
    if (onReplica !== 0) throw new Error(`the replica has ${String(onReplica)} locks that it should not have`)
    const killedAt = performance.now()
    await replication.primary.kill()
    await replication.promote(replica)
    address.retarget(replica)
    const movedAt = performance.now()
    const losses = await Promise.all(watched.map((outcome) => outcome(movedAt, 2 * leaseMs)))
    return {
      losses: losses.map(({ toldMs, reason, takenMs }) => ({ toldMs, reason, takenMs })),
      keptLost: await countLost(kept),
      nextHarmed: await countLost(losses.flatMap(({ taken }) => taken ?? [])),
      downMs: movedAt - killedAt,
      stallMs: delays.max / 1e6,
    }
  } finally {
    delays.disable()
  }
}

const takeAll = (client: LockClient, what: string, count: number): Promise<LockHold[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => client.getLock(`${what}:${i}`).acquire()))

/** One hold from now on: when its holder is told, and when another client has its lock. */
const watch = (
  hold: LockHold,
  rival: LockClient,
): ((movedAt: number, limitMs: number) => Promise<Loss & { taken: LockHold | null }>) => {
  let [toldAt, takenAt]: (number | null)[] = [null, null]
  const told = new Promise<void>((resolve) => {
    hold.signal.addEventListener(
      'abort',
      () => {
        toldAt = performance.now()
        resolve()
      },
      { once: true },
    )
  })
  const taking = rival
    .getLock(hold.lockName)
    .acquire()
    .then((taken) => {
      takenAt = performance.now()
      return taken
    })
  taking.catch(() => undefined)
  return async (movedAt, limitMs) => {
    const timer = new AbortController()
    const limit = sleep(limitMs, null, { signal: timer.signal }).catch(() => null)
    const taken = await Promise.race([taking, limit])
    await Promise.race([told, limit])
    timer.abort()
    const since = (at: number | null | undefined): number | null => (at == null ? null : at - movedAt)
    return { toldMs: since(toldAt), reason: hold.lossError?.reason ?? null, takenMs: since(takenAt), taken }
  }
}

const countLost = async (holds: readonly LockHold[]): Promise<number> => {
  const results = await Promise.allSettled(holds.map((hold) => hold.verify()))
  return results.filter(({ status }) => status === 'rejected').length
}
