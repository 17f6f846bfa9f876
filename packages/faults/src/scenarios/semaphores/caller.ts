import { setTimeout as sleep } from 'node:timers/promises'
import {
  LockLostError,
  type LockClient,
  type Permit,
  type PermitExpirableSemaphore,
  type Semaphore,
} from '@holdfast/core'
import type { SeededRandom } from '../../run/random.js'
import { nowMs } from '../../run/shared-clock.js'
import type { SemaphoreHistory } from './events.js'
import { kindOf } from './names.js'
import type { PermitsInUse } from './permits-in-use.js'
import { Take, type TakeCall } from './take.js'

const LONGEST_WAIT_MS = 2_000
const LONGEST_STEP_MS = 25

export interface CallerParts {
  readonly name: string
  readonly locks: LockClient
  readonly names: readonly string[]
  readonly inUse: PermitsInUse
  readonly history: SemaphoreHistory
  readonly random: SeededRandom
  readonly leaseMs: number
  /** Of each semaphore. */
  readonly permits: number
}

/** One caller that wants permits, again and again, in every way there is, and writes down what it was told. */
export class Caller {
  uses = 0
  readonly #parts: CallerParts
  #isOver = false

  constructor(parts: CallerParts) {
    this.#parts = parts
  }

  stop(): void {
    this.#isOver = true
  }

  async run(): Promise<void> {
    const { locks, names, random } = this.#parts
    while (!this.#isOver) {
      const name = random.pick(names)
      if (kindOf(name) === 'permits') {
        const semaphore = locks.getPermitExpirableSemaphore(name)
        const ways = [this.#leased, this.#renewed, this.#byId, this.#abortedPermit, this.#updated]
        await random.pick(ways).call(this, name, semaphore)
      } else {
        const ways = [this.#bare, this.#bare, this.#byCallback, this.#tried, this.#aborted]
        await random.pick(ways).call(this, name, locks.getSemaphore(name))
      }
      await sleep(random.between(0, 20))
    }
  }

  #bare(name: string, semaphore: Semaphore): Promise<void> {
    return this.#take(name, this.#few(), this.#patience(), async (take, { permits, waitMs, use }) => {
      await semaphore.acquire({ permits, waitMs })
      take.taken()
      await this.#work(name, use, permits)
      await take.giveBack(() => semaphore.release(permits))
    })
  }

  #byCallback(name: string, semaphore: Semaphore): Promise<void> {
    return this.#take(name, this.#few(), this.#patience(), async (take, { permits, waitMs, use }) => {
      let over: (outcome: string) => void = () => undefined
      const returned = new Promise<string>((resolve) => (over = resolve))
      let giving: Promise<void> | undefined
      try {
        await semaphore.withPermits(
          async () => {
            take.taken()
            await this.#work(name, use, permits)
            giving = take.giveBack(() => returned)
          },
          { permits, waitMs },
        )
      } finally {
        over('released')
        await giving
      }
    })
  }

  #tried(name: string, semaphore: Semaphore): Promise<void> {
    return this.#take(name, this.#few(), 0, async (take, { permits, use }) => {
      if (!(await semaphore.tryAcquire(permits))) {
        take.refused()
        return
      }
      take.taken()
      await this.#work(name, use, permits)
      await take.giveBack(() => semaphore.releaseIfExists(permits))
    })
  }

  #aborted(name: string, semaphore: Semaphore): Promise<void> {
    return this.#take(name, this.#few(), LONGEST_WAIT_MS, async (take, { permits, waitMs, use }) => {
      await semaphore.acquire({ permits, waitMs, signal: this.#soon() })
      take.taken()
      await this.#work(name, use, permits)
      await take.giveBack(() => semaphore.release(permits))
    })
  }

  #leased(name: string, semaphore: PermitExpirableSemaphore): Promise<void> {
    return this.#takePermit(name, semaphore, { leaseMs: this.#lease() })
  }

  #renewed(name: string, semaphore: PermitExpirableSemaphore): Promise<void> {
    return this.#takePermit(name, semaphore, { renew: true })
  }

  #abortedPermit(name: string, semaphore: PermitExpirableSemaphore): Promise<void> {
    return this.#takePermit(name, semaphore, { renew: true, signal: this.#soon() })
  }

  /** Sets other ends, later and earlier ones. */
  #updated(name: string, semaphore: PermitExpirableSemaphore): Promise<void> {
    return this.#takePermit(name, semaphore, { leaseMs: this.#lease() }, (permit, take) => {
      const leaseMs = this.#lease()
      // Noted before: a process that is stopped when it has sent it uses nothing any more.
      return take.trust(permit, leaseMs) && permit.updateLease(leaseMs)
    })
  }

  #takePermit(
    name: string,
    semaphore: PermitExpirableSemaphore,
    terms: { leaseMs?: number; renew?: boolean; signal?: AbortSignal },
    change: (permit: Permit, take: Take) => unknown = () => undefined,
  ): Promise<void> {
    const { random } = this.#parts
    return this.#take(name, 1, this.#patience(), async (take, { waitMs }) => {
      const permit = await semaphore.acquirePermit({ waitMs, ...terms })
      take.watch(permit)
      try {
        for (let step = random.whole(5); step > 0 && take.trust(permit); step -= 1) {
          // A change that has no answer yet must not be used as if nobody had asked for it.
          const changed = Promise.resolve(change(permit, take))
          await Promise.all([changed, this.#workWhileChanging(take, permit)])
        }
      } catch (error) {
        if (!(error instanceof LockLostError)) throw error
      } finally {
        await take.giveBack(() => permit.release())
      }
    })
  }

  /** A caller that has only an id knows what it asked for, and when. */
  #byId(name: string, semaphore: PermitExpirableSemaphore): Promise<void> {
    return this.#take(name, 2, this.#patience(), async (take, { permits, waitMs }) => {
      const [leaseMs, sentAt] = [this.#lease(), nowMs()]
      const ids = await semaphore.acquireMany(permits, { waitMs, leaseMs })
      take.taken(sentAt + leaseMs)
      await sleep(this.#parts.random.between(0, LONGEST_STEP_MS))
      await take.giveBack(() => semaphore.tryRelease(ids))
    })
  }

  async #workWhileChanging(take: Take, permit: Permit): Promise<void> {
    await sleep(this.#parts.random.between(0, LONGEST_STEP_MS))
    take.trust(permit)
  }

  async #work(name: string, use: string, permits: number): Promise<void> {
    const { history, random, permits: most } = this.#parts
    const inUse = await this.#parts.inUse.begin(name, use, permits)
    if (inUse > most) history.add('too-many', { name, inUse })
    await sleep(random.between(0, 3 * LONGEST_STEP_MS))
    await this.#parts.inUse.end(name, use)
  }

  async #take(
    name: string,
    permits: number,
    waitMs: number,
    go: (take: Take, call: TakeCall) => Promise<void>,
  ): Promise<void> {
    const call = { name, use: `${this.#parts.name}#${(this.uses += 1)}`, permits, waitMs }
    const take = new Take(this.#parts.history, call)
    try {
      await go(take, call)
    } catch (error) {
      take.endedBy(error)
    }
  }

  #few(): number {
    return 1 + this.#parts.random.whole(2)
  }

  #lease(): number {
    return Math.round(this.#parts.random.between(300, this.#parts.leaseMs))
  }

  #patience(): number {
    return this.#parts.random.between(100, LONGEST_WAIT_MS)
  }

  #soon(): AbortSignal {
    return AbortSignal.timeout(Math.round(this.#parts.random.between(0, 200)))
  }
}
