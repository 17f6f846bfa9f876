import type { LockClient } from '@holdfast/core'
import type { History } from '../../run/history-file.js'
import { seededRandom } from '../../run/random.js'
import { Register } from '../../workload/register.js'
import { Caller } from './caller.js'

export interface CrewSettings {
  /** Of the process. */
  readonly name: string
  /** Where the register is. */
  readonly registerPort: number
  readonly leaseMs: number
  readonly locks: readonly string[]
  /** How many callers. */
  readonly flows: number
  readonly seed: number
}

/** The callers of one process, and the register that the fenced locks among theirs guard. */
export class Crew {
  readonly #register: Register
  readonly #callers: readonly Caller[]
  readonly #running: readonly Promise<void>[]
  readonly #failures: unknown[] = []

  constructor({ locks, history }: { locks: LockClient; history: History }, settings: CrewSettings) {
    const register = new Register(settings.registerPort)
    const common = { locks, history, register, names: settings.locks, leaseMs: settings.leaseMs }
    this.#register = register
    this.#callers = Array.from({ length: settings.flows }, (_, i) => {
      const random = seededRandom(settings.seed * 100 + i)
      return new Caller({ ...common, random, name: `${settings.name}/${i}` })
    })
    this.#running = this.#callers.map((caller) =>
      caller.run().catch((error: unknown) => void this.#failures.push(error)),
    )
  }

  get acquisitions(): number {
    return this.#callers.reduce((sum, caller) => sum + caller.acquisitions, 0)
  }

  /** Rejects with what a caller met that no lock may do. */
  async finish(): Promise<void> {
    this.#callers.forEach((caller) => caller.stop())
    await Promise.all(this.#running)
    if (this.#failures.length > 0) throw this.#failures[0]
  }

  /** Closes the connection to the register. */
  close(): Promise<void> {
    return this.#register.close()
  }
}
