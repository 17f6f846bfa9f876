import { setTimeout as sleep } from 'node:timers/promises'
import type { AcquireOptions, LockClient } from '../../../../core/src/index.js'
import type { SeededRandom } from '../../../../faults/src/harness/seeded-random.js'
import {
  kindOf,
  lockNamed,
  readWriteNamed,
  type PlainFace,
} from '../../../../faults/src/workload/lock-kinds.js'
import type { Tally } from './tally.js'

const LONGEST_WAIT_MS = 1_500
const LONGEST_WORK_MS = 20
/** How the metrics call the kinds of locks. A read-write lock has two. */
const KINDS = { lock: 'reentrant', fair: 'fair', spin: 'spin', fenced: 'fenced', multi: 'multi' } as const
const REENTRANT = ['reentrant', 'fair', 'fenced']
export const POOL = 'pool:1'
export const SEATS = 'seats:1'

export interface CallerParts {
  readonly locks: LockClient
  readonly names: readonly string[]
  readonly tally: Tally
  readonly random: SeededRandom
  readonly leaseMs: number
}

/** A lock that a caller aims at, and how the metrics call its kind. */
interface Target {
  readonly lock: PlainFace
  readonly kind: string
}

/** One caller that wants locks and permits, again and again, and counts what it is told. */
export class CountingCaller {
  readonly #parts: CallerParts
  #over = false

  constructor(parts: CallerParts) {
    this.#parts = parts
  }

  stop(): void {
    this.#over = true
  }

  async run(): Promise<void> {
    const { random, names } = this.#parts
    const ofLocks = [this.#hold, this.#hold, this.#callback, this.#once, this.#impatient]
    while (!this.#over) {
      if (random.chance(0.2)) {
        await random.pick([this.#pool, this.#seat])()
      } else {
        const target = this.#aim(random.pick(names))
        const ways = REENTRANT.includes(target.kind) ? [...ofLocks, this.#reentrant] : ofLocks
        await random.pick(ways)(target)
      }
      await sleep(random.between(0, 15))
    }
  }

  #aim(name: string): Target {
    const { locks, random } = this.#parts
    const kind = kindOf(name)
    if (kind !== 'read-write') return { lock: lockNamed(locks, name), kind: KINDS[kind] }
    const both = readWriteNamed(locks, name)
    return random.chance(0.6)
      ? { lock: both.readLock(), kind: 'read' }
      : { lock: both.writeLock(), kind: 'write' }
  }

  readonly #hold = ({ lock, kind }: Target): Promise<void> => {
    const { random, leaseMs } = this.#parts
    const lease = random.chance(0.3) ? { leaseMs: Math.round(random.between(100, leaseMs)) } : {}
    return this.#held({ lock, kind }, { waitMs: this.#patience(), ...lease })
  }

  #held({ lock, kind }: Target, options: AcquireOptions): Promise<void> {
    return this.#parts.tally.call(kind, options.signal, async (acquired) => {
      const hold = await lock.acquire(options)
      await this.#workOnce(acquired)
      await hold.release()
    })
  }

  async #workOnce(acquired: () => void): Promise<void> {
    acquired()
    await this.#work()
  }

  readonly #callback = ({ lock, kind }: Target): Promise<void> =>
    this.#parts.tally.call(kind, undefined, (acquired) =>
      lock.withLock(() => this.#workOnce(acquired), { waitMs: this.#patience() }),
    )

  readonly #once = ({ lock, kind }: Target): Promise<void> =>
    this.#parts.tally.call(kind, undefined, async (acquired) => {
      const hold = await lock.tryAcquire()
      if (!hold) return null
      await this.#workOnce(acquired)
      return hold.release()
    })

  readonly #impatient = (target: Target): Promise<void> =>
    this.#held(target, { signal: AbortSignal.timeout(Math.round(this.#parts.random.between(0, 150))) })

  readonly #reentrant = ({ lock, kind }: Target): Promise<void> => {
    const { locks, tally } = this.#parts
    return locks.run(() =>
      tally.call(kind, undefined, async (acquired) => {
        const outer = await lock.acquire({ waitMs: this.#patience() })
        acquired()
        await tally.call(kind, undefined, async (again) => {
          const inner = await lock.acquire({ waitMs: this.#patience() })
          // Where the outer one was lost there is nothing to re-enter.
          again(inner.owner === outer.owner ? 'reentrant' : 'remote')
          await inner.release()
        })
        await outer.release()
      }),
    )
  }

  readonly #pool = (): Promise<void> => {
    const { locks, tally } = this.#parts
    return tally.call('semaphore', undefined, (acquired) =>
      locks.getSemaphore(POOL).withPermits(() => this.#workOnce(acquired), { waitMs: this.#patience() }),
    )
  }

  readonly #seat = (): Promise<void> => {
    const { locks, tally } = this.#parts
    return tally.call('permit', undefined, async (acquired) => {
      const options = { renew: true, waitMs: this.#patience() }
      const permit = await locks.getPermitExpirableSemaphore(SEATS).acquirePermit(options)
      await this.#workOnce(acquired)
      // A permit emits nothing when its release finds that it had ended.
      if ((await permit.release()) === 'lost' && permit.lossError === null) tally.lost('gone')
    })
  }

  /** Sometimes so long that a renewal comes meanwhile, sometimes so short that the lock is passed on. */
  #work(): Promise<void> {
    const { random, leaseMs } = this.#parts
    if (random.chance(0.3)) return Promise.resolve()
    return sleep(random.between(0, random.chance(0.1) ? leaseMs : LONGEST_WORK_MS))
  }

  #patience(): number {
    return Math.round(this.#parts.random.between(20, LONGEST_WAIT_MS))
  }
}
