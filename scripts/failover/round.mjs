import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { Redis } from 'ioredis'

const KEPT_LEASE_MS = 15_000

/**
 * @typedef {object} Loss one lock that the new primary did not have
 * @property {number | null} toldMs after the fail-over; null: not within two leases
 * @property {string | null} reason
 * @property {number | null} takenMs when somebody else had it
 *
 * @typedef {object} Round
 * @property {Loss[]} losses
 * @property {number} keptLost locks that the replica had, and that were lost all the same
 * @property {number} strangersHarmed locks that somebody else had taken and did not have in the end
 * @property {number} downMs from the death of one primary to the first moment of the next
 * @property {number} stallMs how long this process ran late at most
 */

/**
 * One fail-over: some locks are on the replica, others are not.
 *
 * @param {{ replication: object, address: object, leaseMs: number, locks: number, signal: AbortSignal }} setting
 * @returns {Promise<Round>}
 */
export const failOverOnce = async ({ replication, address, leaseMs, locks, signal }) => {
  const connections = [connect(address), connect(address), connect(address)]
  // What a replica has ends one lease after the last renewal that it saw.
  const leases = [leaseMs, leaseMs, Math.max(leaseMs, KEPT_LEASE_MS)]
  const clients = await Promise.all(
    connections.map((redis, i) =>
      LockClient.connect(redis, {
        lockWatchdogTimeout: leases[i],
        bareCalls: 'allow',
        resyncInterval: 60_000,
      }),
    ),
  )
  const [holder, rival, keeper] = clients
  const delays = monitorEventLoopDelay({ resolution: 5 })
  try {
    const kept = await takeAll(keeper, 'kept', locks)
    await replication.healReplication()
    replication.cutReplication()
    const lost = await takeAll(holder, 'lost', locks)
    const watched = lost.map((hold) => watch(hold, rival))
    // Fail-overs come at any moment between two renewals.
    await sleep((Math.random() * leaseMs) / 3, undefined, { signal })
    delays.enable()
    const [replica] = replication.replicas
    const onReplica = await replica.command('EXISTS', ...lost.map(({ lockName }) => lockName))
    if (onReplica !== 0) throw new Error(`the replica has ${onReplica} locks that it should not have`)
    const { downMs, movedAt } = await failOver(replication, address)
    const losses = await Promise.all(watched.map((each) => each.outcome(movedAt, 2 * leaseMs)))
    delays.disable()
    return {
      losses: losses.map(({ toldMs, reason, takenMs }) => ({ toldMs, reason, takenMs })),
      keptLost: await countFailures(kept, (hold) => hold.verify()),
      strangersHarmed: await countFailures(losses, ({ taken }) => taken?.verify()),
      downMs,
      stallMs: delays.max / 1e6,
    }
  } finally {
    delays.disable()
    await Promise.all(clients.map((client) => client.close({ graceMs: 0 })))
    connections.forEach((redis) => redis.disconnect())
  }
}

/** With the reconnect pauses that ioredis has by default: 50 ms, 100 ms, ... */
const connect = ({ url }) => {
  const redis = new Redis(url, { disconnectTimeout: 50 })
  redis.on('error', () => undefined)
  return redis
}

const takeAll = (client, what, count) =>
  Promise.all(Array.from({ length: count }, (_, i) => client.getLock(`${what}:${i}`).acquire()))

const failOver = async (replication, address) => {
  const [replica] = replication.replicas
  const killedAt = performance.now()
  await replication.primary.kill()
  await replication.promote(replica)
  address.retarget(replica)
  const movedAt = performance.now()
  return { downMs: movedAt - killedAt, movedAt }
}

/** What becomes of one hold: when its holder is told, and when somebody else has its lock. */
const watch = (hold, rival) => {
  let toldAt = null
  hold.signal.addEventListener('abort', () => (toldAt = performance.now()), { once: true })
  const told = new Promise((resolve) => hold.signal.addEventListener('abort', resolve, { once: true }))
  let takenAt = null
  const taking = rival
    .getLock(hold.lockName)
    .acquire()
    .then((taken) => {
      takenAt = performance.now()
      return taken
    })
  const outcome = async (movedAt, limitMs) => {
    const timer = new AbortController()
    const limit = sleep(limitMs, null, { signal: timer.signal }).catch(() => null)
    const taken = await Promise.race([taking, limit])
    await Promise.race([told, limit])
    timer.abort()
    const since = (at) => (at === null ? null : at - movedAt)
    return { toldMs: since(toldAt), reason: hold.lossError?.reason ?? null, takenMs: since(takenAt), taken }
  }
  taking.catch(() => undefined)
  return { outcome }
}

const countFailures = async (items, check) => {
  const results = await Promise.allSettled(items.map(async (item) => check(item)))
  return results.filter(({ status }) => status === 'rejected').length
}
