import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient, type Hold, type LockClientOptions } from '@holdfast/core'
import type { SeededRandom } from '../../harness/seeded-random.js'
import type { Carrier } from '../../workload/carriers.js'

const LEASE: LockClientOptions = {
  lockWatchdogTimeout: 10_000,
  resyncInterval: 1_000,
  unavailableTimeoutMs: 30_000,
  bareCalls: 'allow',
}
const LONGEST_HOLD_MS = 5
const POLL_MS = 5

export interface ContendersOptions {
  readonly connect: () => Carrier
  readonly names: readonly string[]
  readonly flows: number
  readonly options: LockClientOptions
  readonly random: SeededRandom
}

interface Client {
  readonly carrier: Carrier
  readonly locks: LockClient
}

/** The belief of a holder that looks now. */
const believes = (hold: Hold): boolean => !hold.signal.aborted && hold.trustedForMs > 0

/**
 * Callers of two clients that take one lock after the other. Both are in this process, so what they believe at one
 * moment can be compared without any clock.
 */
export class Contenders {
  /** Grants of a lock that another caller believed to have. */
  wrong = 0
  lost = 0
  errors = 0
  readonly #holders = new Map<string, Hold>()
  readonly #grantedAt = new Map<string, number>()
  readonly #random: SeededRandom
  readonly #clients: readonly Client[]
  readonly #over = new AbortController()
  #done: Promise<void>[] = []

  private constructor(clients: readonly Client[], random: SeededRandom) {
    this.#clients = clients
    this.#random = random
    for (const { locks } of clients) locks.on('lost', () => (this.lost += 1))
  }

  static async start({ connect, names, flows, options, random }: ContendersOptions): Promise<Contenders> {
    const open = [connect(), connect()].map(async (carrier) => ({
      carrier,
      locks: await LockClient.connect(carrier.client, { ...LEASE, ...options }),
    }))
    const self = new Contenders(await Promise.all(open), random)
    self.#done = Array.from({ length: flows }, (_, i) => self.#flow(i, names))
    return self
  }

  /** Resolves when each of the locks was granted after this moment. @returns ms until then, of the slowest of them */
  async workAgain(names: readonly string[], signal: AbortSignal): Promise<number> {
    const since = performance.now()
    const grantedAfter = (name: string): number => (this.#grantedAt.get(name) ?? 0) - since
    while (names.some((name) => grantedAfter(name) <= 0)) await sleep(POLL_MS, undefined, { signal })
    return Math.max(...names.map(grantedAfter))
  }

  async end(): Promise<void> {
    this.#over.abort()
    await Promise.all(this.#done)
    await Promise.all(this.#clients.map(({ locks }) => locks.close({ graceMs: 0 })))
    await Promise.all(this.#clients.map(({ carrier }) => carrier.end()))
  }

  async #flow(index: number, names: readonly string[]): Promise<void> {
    const { locks } = this.#clients[index % 2] as { locks: LockClient }
    for (let round = index; !this.#over.signal.aborted; round += 1) {
      const name = names[round % names.length] as string
      try {
        const hold = await locks.getLock(name).acquire()
        this.#granted(name, hold)
        await sleep(this.#random.between(0, LONGEST_HOLD_MS))
        if (this.#holders.get(name) === hold) this.#holders.delete(name)
        await hold.release()
      } catch {
        this.errors += 1
        // A connection that has ended refuses every call at once: without a pause nothing else would run any more.
        await sleep(LONGEST_HOLD_MS)
      }
    }
  }

  #granted(name: string, hold: Hold): void {
    const before = this.#holders.get(name)
    if (before && believes(before) && believes(hold)) this.wrong += 1
    this.#holders.set(name, hold)
    this.#grantedAt.set(name, performance.now())
  }
}
