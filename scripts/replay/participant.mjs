import { once } from 'node:events'
import { LockClient } from '@holdfast/core'
import { FaultProxy } from '@holdfast/testing'
import { openContext } from './contexts.mjs'
import { Flow } from './flow.mjs'
import { Wire } from './grace.mjs'
import { Saboteur } from './saboteur.mjs'

// Renewed every third of it. What is left must be enough for several lost renewals on a busy machine: a hold that is
// not renewed in time is lost rightly.
export const LEASE_MS = 6_000
const COMMAND_TIMEOUT_MS = 400
const SLOWEST_RECONNECT_MS = 120

/** One client on a wire of its own that breaks, and the logical threads that use it. */
export class Participant {
  flows = []
  saboteur
  wire
  #redis
  #locks
  #proxy
  #contexts

  /**
   * @param {{ Redis: any, server: any, autoPipelining: boolean, number: number, flows: number,
   *   names: string[], kept: string[], model: any, direct: any, randomOf: (number: number) => any, onLost: (event: object) => void }} parts
   */
  static async open(parts) {
    const { Redis, server, autoPipelining, number, model, randomOf, onLost } = parts
    const opened = new Participant()
    const random = randomOf(0)
    opened.#proxy = await FaultProxy.start(server)
    opened.#redis = new Redis({
      port: opened.#proxy.port,
      enableAutoPipelining: autoPipelining,
      // From at once to long after the time-out of a command and the patience of a caller.
      retryStrategy: () => random.between(1, SLOWEST_RECONNECT_MS),
      disconnectTimeout: 50,
    })
    opened.#redis.on('error', () => undefined)
    opened.#locks = await LockClient.connect(opened.#redis, {
      clientName: `replay-${number}`,
      lockWatchdogTimeout: LEASE_MS,
      commandTimeout: COMMAND_TIMEOUT_MS,
      // What a release gives to a waiter lasts for two of them, until its client has asked for the lease: as long as a
      // lease, so that it outlasts what is broken, too. A shorter one is lost rightly.
      resyncInterval: LEASE_MS / 2,
      // Alone in its script, or together with others.
      watchdogBatchSize: number % 2 === 0 ? 1 : 100,
    })
    opened.wire = new Wire(opened.#redis)
    model.connected(opened.#locks.clientId, opened.wire)
    opened.#locks.on('lost', onLost)
    opened.#locks.on('renewal-failed', ({ lockName, owner, error, trustedForMs }) => {
      model.note(
        lockName,
        `${owner} not renewed, trusted for ${Math.round(trustedForMs)} ms: ${error.message}`,
      )
    })
    opened.saboteur = new Saboteur(opened.#proxy, random)
    opened.#openFlows(parts)
    return opened
  }

  /** The last of them keep locks of their own for the whole run, for the watchdog to renew. */
  #openFlows({ number, names, kept, flows, model, direct, randomOf }) {
    const { saboteur, wire } = this
    const numbers = Array.from({ length: flows + kept.length }, (_, i) => i)
    this.#contexts = numbers.map((i) => openContext(this.#locks, i))
    this.flows = numbers.map((i) => {
      const keeps = i >= flows
      const wanted = { names: keeps ? [kept[i - flows]] : names, keeps }
      const parts = { context: this.#contexts[i], model, direct, saboteur, wire, random: randomOf(i + 1) }
      return new Flow({ name: `replay-${number}/${i}`, ...wanted, ...parts })
    })
  }

  /** Gracefully, when all went well. */
  async close() {
    this.#contexts.forEach((context) => context.end())
    await this.#locks.close()
  }

  /** Whatever state it is in. Safe after `close`. */
  async stop() {
    await this.#locks?.close({ graceMs: 0 })
    if (this.#redis.status !== 'end') {
      const ended = once(this.#redis, 'end')
      this.#redis.disconnect()
      await ended
    }
    await this.#proxy.stop()
  }
}
