import { once } from 'node:events'
import { LockClient, type LockEvents } from '@holdfast/core'
import { FaultProxy, type RedisServer } from '@holdfast/faults/harness'
import type { Redis } from 'ioredis'
import type { SeededRandom } from '../../harness/seeded-random.js'
import type { Compared } from './comparison.js'
import { openContext, type LastingContext } from './contexts.js'
import { Flow } from './flow.js'
import { Wire } from './grace.js'
import { Saboteur } from './saboteur.js'

// Renewed every third of it. What is left must be enough for several lost renewals on a busy machine: a hold that is
// not renewed in time is lost rightly.
export const LEASE_MS = 6_000
const COMMAND_TIMEOUT_MS = 400
const SLOWEST_RECONNECT_MS = 120

export interface ParticipantParts extends Compared {
  /** The client, of the version of ioredis that is under test. */
  readonly Redis: typeof Redis
  readonly server: RedisServer
  readonly autoPipelining: boolean
  readonly number: number
  readonly flows: number
  /** Locks that all want. */
  readonly names: readonly string[]
  /** Locks of its own. */
  readonly kept: readonly string[]
  readonly randomOf: (number: number) => SeededRandom
  readonly onLost: (event: LockEvents['lost']) => void
}

interface Opened {
  readonly redis: Redis
  readonly locks: LockClient
  readonly proxy: FaultProxy
  readonly saboteur: Saboteur
  readonly wire: Wire
}

/** One client on a wire of its own that breaks, and the logical threads that use it. */
export class Participant {
  readonly flows: readonly Flow[]
  readonly saboteur: Saboteur
  readonly wire: Wire
  readonly #contexts: readonly LastingContext[]
  readonly #opened: Opened

  private constructor(parts: ParticipantParts, opened: Opened) {
    const { contexts, flows } = openFlows(parts, opened)
    this.flows = flows
    this.saboteur = opened.saboteur
    this.wire = opened.wire
    this.#contexts = contexts
    this.#opened = opened
  }

  static async open(parts: ParticipantParts): Promise<Participant> {
    const { Redis, server, autoPipelining, number, model, randomOf, onLost } = parts
    const random = randomOf(0)
    const proxy = await FaultProxy.start(server)
    const redis = new Redis({
      port: proxy.port,
      enableAutoPipelining: autoPipelining,
      // From at once to long after the time-out of a command and the patience of a caller.
      retryStrategy: () => random.between(1, SLOWEST_RECONNECT_MS),
      disconnectTimeout: 50,
    })
    redis.on('error', () => undefined)
    const locks = await LockClient.connect(redis, {
      clientName: `replay-${number}`,
      lockWatchdogTimeout: LEASE_MS,
      commandTimeout: COMMAND_TIMEOUT_MS,
      // A release's grant to a waiter lasts for two of them, until its client has asked for the lease: as long as a
      // lease, so that it outlasts what is broken, too. A shorter one is lost rightly.
      resyncInterval: LEASE_MS / 2,
      // Alone in its script, or together with others.
      watchdogBatchSize: number % 2 === 0 ? 1 : 100,
    })
    const wire = new Wire(redis)
    model.connected(locks.clientId, wire)
    locks.on('lost', onLost)
    locks.on('renewal-failed', ({ lockName, owner, error, trustedForMs }) => {
      const trusted = Math.round(trustedForMs)
      model.note(lockName, `${owner} not renewed, trusted for ${trusted} ms: ${(error as Error).message}`)
    })
    const saboteur = new Saboteur(proxy, random)
    return new Participant(parts, { redis, locks, proxy, saboteur, wire })
  }

  /** Gracefully, when all went well. */
  async close(): Promise<void> {
    this.#contexts.forEach((context) => context.end())
    await this.#opened.locks.close()
  }

  /** In whatever state it is. Safe after `close`. */
  async stop(): Promise<void> {
    const { redis, locks, proxy } = this.#opened
    await locks.close({ graceMs: 0 })
    if (redis.status !== 'end') {
      const ended = once(redis, 'end')
      redis.disconnect()
      await ended
    }
    await proxy.stop()
  }
}

/** The last of them keep locks of their own for the whole run, for the watchdog to renew. */
const openFlows = (
  { number, names, kept, flows, model, direct, randomOf }: ParticipantParts,
  { locks, saboteur, wire }: Opened,
): { contexts: LastingContext[]; flows: Flow[] } => {
  const contexts = Array.from({ length: flows + kept.length }, (_, i) => openContext(locks, i))
  return {
    contexts,
    flows: contexts.map((context, i) => {
      const own = kept[i - flows]
      const wanted = own === undefined ? { names, keeps: false } : { names: [own], keeps: true }
      const parts = { context, model, direct, saboteur, wire, random: randomOf(i + 1) }
      return new Flow({ name: `replay-${number}/${i}`, ...wanted, ...parts })
    }),
  }
}
