import type { SeededRandom } from '../../harness/seeded-random.js'
import type { Journal } from '../journal.js'
import type { World } from '../world/world.js'

const SLOWEST_MS = 3

interface Write {
  readonly process: string
  readonly lock: string
  readonly owner: string
  readonly token: string | undefined
}

/** The register that the locks guard. Where its writers have tokens it refuses those below the greatest that it has seen. */
export class Register {
  private readonly greatest = new Map<string, bigint>()
  private order = 0

  constructor(
    private readonly world: World,
    private readonly journal: Journal,
    private readonly chance: SeededRandom,
  ) {}

  /** Without a token at once; with one when it arrives, wherever its writer is by then. */
  write({ process, lock, owner, token }: Write): void {
    if (token === undefined) {
      this.journal.add(process, 'write', { lock, owner, accepted: true })
      return
    }
    this.world.after(this.chance.between(0, SLOWEST_MS), () => {
      const greatest = this.greatest.get(lock)
      const accepted = greatest === undefined || BigInt(token) >= greatest
      if (accepted) this.greatest.set(lock, BigInt(token))
      this.order += 1
      this.journal.add(process, 'write', { lock, owner, token, accepted, order: this.order })
    })
  }

  greatestOf(lock: string): bigint | undefined {
    return this.greatest.get(lock)
  }
}
