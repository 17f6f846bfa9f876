import { clearInterval, setInterval } from 'node:timers'
import { begin } from './faults.mjs'
import { Relay } from './relay.mjs'
import { seededRandom } from '../torture/random.mjs'

export const LEASE_MS = 30_000

/**
 * The same hand-offs four times. `part` is that of the waits that are asked for; `resyncMs` the client's.
 *
 * @returns {{ name: string, waits: number, kills: boolean, drops: boolean, resyncMs: number }[]}
 */
export const phasesOf = ({ waits, resyncMs }) => [
  { name: 'no faults', waits, kills: false, drops: false, resyncMs },
  { name: 'dropped', waits: Math.ceil(waits / 10), kills: false, drops: true, resyncMs },
  // Without a resync worth the name: to be subscribed again has to be enough.
  { name: 'killed', waits: Math.ceil(waits / 4), kills: true, drops: false, resyncMs: LEASE_MS },
  { name: 'killed and dropped', waits, kills: true, drops: true, resyncMs },
]

/** Runs one phase with clients of its own, and counts what they send. */
export const runPhase = async (phase, { server, admin, proxy, workers, wanted, interrupted, onProgress }) => {
  const { port } = proxy
  await Promise.all(
    workers.map((worker, i) =>
      worker.call('open', { name: `worker-${i}`, port, leaseMs: LEASE_MS, resyncMs: phase.resyncMs }),
    ),
  )
  const relays = relaysOf(workers, wanted)
  const done = () => relays.reduce((sum, relay) => sum + relay.needs.length, 0)
  const isOver = () => interrupted.aborted || done() >= phase.waits || relays.some(({ isStuck }) => isStuck)
  const report = setInterval(() => onProgress(phase, done()), 5_000)
  await server.resetStats()
  const startedAt = performance.now()
  const end = begin(phase, { admin, proxy })
  let faults
  try {
    await Promise.all(relays.map((relay) => relay.run(isOver)))
  } finally {
    clearInterval(report)
    faults = await end()
  }
  interrupted.throwIfAborted()
  const commands = await server.commandStats()
  const tookMs = performance.now() - startedAt
  await Promise.all(workers.map((worker) => worker.call('close')))
  return { phase, needs: relays.flatMap(({ needs }) => needs), faults, commands, tookMs }
}

const relaysOf = (workers, { locks, seed }) =>
  Array.from({ length: locks }, (_, i) => {
    const players = [workers[i % workers.length], workers[(i + 1) % workers.length]]
    return new Relay(`lock:${i}`, players, seededRandom(seed * 1_000 + i))
  })
