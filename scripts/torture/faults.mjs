import { setTimeout as sleep } from 'node:timers/promises'
import { nowMs } from '../shared-clock.mjs'
import { forceUnlock } from './lock-names.mjs'
import { restoreCounters } from './register.mjs'

const LATEST_COPY_MS = 5_000
const isScript = (bytes) => bytes.includes('evalsha')

/** Harm to the wires of some processes, until they are healed. */
const onWires = (harm) => ({
  aim: ({ fleet, random }) => ({
    workers: random.chance(0.3) ? fleet.workers : [random.pick(fleet.workers)],
  }),
  happen: async ({ fleet, random }, { workers }) => {
    workers.forEach(({ proxy }) => harm(proxy, random))
    await sleep(random.between(50, 1_500))
    workers.forEach((worker) => fleet.heal(worker))
  },
})

/** Harm to one process. */
const onProcess = (harm) => ({
  aim: ({ fleet, random }) => ({ workers: [random.pick(fleet.workers)] }),
  happen: (run, { workers: [worker] }) => harm(worker, run),
})

const onRedis = (happen) => ({ aim: () => ({ workers: [] }), happen })

/** Locks are gone by it, so two owners may overlap until the first has been told. */
const losing = (what, fault) => ({ ...fault, class: `${what}-loss` })

/**
 * What can be done to a run. `aim` says whom it concerns before it happens.
 *
 * @type {Record<string, { class?: string, aim: (run: any) => any, happen: (run: any, aim: any) => Promise<unknown> }>}
 */
const FAULTS = {
  'lose-reply': onWires((proxy, random) => proxy.loseReply(isScript, 1 + random.whole(5))),
  'late-copy': onWires((proxy, random) => {
    const times = 1 + random.whole(5)
    // A copy that cannot be delivered because Redis is down is no finding.
    proxy.copyLate(isScript, random.between(5, LATEST_COPY_MS), times).happened.catch(() => undefined)
    // What is on its way twice was on a connection that broke; one connection delivers nothing twice.
    proxy.loseReply(isScript, times)
  }),
  cut: onWires((proxy) => proxy.cutAll()),
  refuse: onWires((proxy) => proxy.refuse()),
  'black-hole': onWires((proxy) => proxy.blackHole()),
  delay: onWires((proxy, random) => proxy.delay(random.between(1, 180))),
  'drop-pushes': onWires((proxy, random) => proxy.dropPushes(2 + random.whole(9))),
  'kill-subscribers': onRedis(async ({ redis, random }) => {
    for (let i = 0; i < 8; i += 1) {
      await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
      await sleep(random.between(20, 150))
    }
  }),
  'script-flush': onRedis(async ({ redis, random }) => {
    for (let i = 0; i < 20; i += 1) {
      await redis.command('SCRIPT', 'FLUSH')
      await sleep(random.between(1, 50))
    }
  }),
  'out-of-memory': onRedis(async ({ redis, random }) => {
    await redis.command('CONFIG', 'SET', 'maxmemory', '1')
    await sleep(random.between(50, 1_000))
    await redis.command('CONFIG', 'SET', 'maxmemory', '0')
  }),
  'client-pause': onRedis(async ({ redis, random }) => {
    const ms = Math.round(random.between(50, 1_500))
    await redis.command('CLIENT', 'PAUSE', ms, random.pick(['ALL', 'WRITE']))
    await sleep(ms)
  }),
  'redis-stands-still': onRedis(async ({ redis, random }) => {
    await redis.pause()
    await sleep(random.between(50, 3_000))
    redis.resume()
  }),
  'redis-restarts': onRedis(({ redis }) => redis.restart()),
  'redis-restarts-empty': losing(
    'data',
    onRedis(async ({ redis, register, locks, random }) => {
      await redis.kill()
      await sleep(random.between(0, 500))
      await redis.restart({ empty: true })
      await restoreCounters(redis, register, locks)
    }),
  ),
  'force-unlock': losing('lock', {
    aim: ({ random, locks }) => ({ workers: [], lock: random.pick(locks) }),
    happen: ({ fleet }, { lock }) => forceUnlock(fleet.observer, lock),
  }),
  'process-stands-still': onProcess(async ({ process }, { random, leaseMs }) => {
    await process.pause()
    await sleep(random.between(0.1, 3) * leaseMs)
    process.resume()
  }),
  'event-loop-blocked': onProcess(({ process }, { random, leaseMs }) =>
    process.call('block', random.between(0.1, 3) * leaseMs),
  ),
  'process-killed': onProcess((worker, { fleet }) => fleet.replace(worker)),
}

export const FAULT_NAMES = Object.keys(FAULTS)

/**
 * A loss of data takes the latches along. A copy that is still on its way may then take a lock for nobody, or put
 * nobody in line, until a lease has ended: no wait proves anything meanwhile.
 */
const noteCopiesWithoutLatch = ({ history, copies, leaseMs }) => {
  if (copies.untilMs <= nowMs()) return
  copies.harmlessAtMs = copies.untilMs + leaseMs
  const name = `copies-without-latch-${(copies.losses += 1)}`
  history.add('fault', { name, class: 'disturbance' })
  history.add('healed', { name, atMs: copies.harmlessAtMs })
}

/** Lets one fault happen and heal, and writes both down. */
export const happen = async (name, run) => {
  const fault = FAULTS[name]
  const aim = fault.aim(run)
  const { workers, lock } = aim
  const target = workers.length === 1 ? workers[0].name : undefined
  run.history.add('fault', { name, class: fault.class ?? 'disturbance', lock, target })
  await fault.happen(run, aim)
  run.history.add('healed', { name, lock })
  if (name === 'late-copy') run.copies.untilMs = nowMs() + LATEST_COPY_MS
  if (fault.class === 'data-loss') noteCopiesWithoutLatch(run)
}
