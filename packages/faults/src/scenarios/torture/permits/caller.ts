import { setTimeout as sleep } from 'node:timers/promises'
import { LockLostError, type Permit } from '@holdfast/core'
import { nowMs } from '../../../run/shared-clock.js'
import type { SemaphoreHistory } from '../../../workload/permit-uses.js'
import { workMs, type CallerParts } from '../workload.js'
import { Take, type TakeCall } from '../../../workload/take.js'

const LONGEST_WAIT_MS = 2_000

export interface PermitCallerParts extends Omit<CallerParts, 'history'> {
  readonly history: SemaphoreHistory
  /** The size of each semaphore. */
  readonly permits: number
}

type Way = (name: string) => Promise<void>

/** One caller that wants permits, in every way there is, and writes down what it was told. */
export class PermitCaller {
  readonly #parts: PermitCallerParts
  #uses = 0

  constructor(parts: PermitCallerParts) {
    this.#parts = parts
  }

  async step(): Promise<void> {
    const { names, random } = this.#parts
    const name = random.pick(names)
    const ways: Way[] = name.startsWith('permits:')
      ? [this.#ending, this.#ending, this.#ending, this.#byId]
      : [this.#endless, this.#endless, this.#byCallback, this.#once]
    await random.pick(ways)(name)
    await sleep(random.between(0, 20))
  }

  readonly #endless: Way = (name) => {
    const semaphore = this.#parts.locks.getSemaphore(name)
    return this.#take(name, this.#few(), this.#patience(), async (take, { permits, waitMs, use }) => {
      await semaphore.acquire({ permits, waitMs, ...this.#maybeImpatient() })
      take.taken()
      await this.#work(name, use, permits)
      await take.release(() => semaphore.release(permits))
    })
  }

  readonly #byCallback: Way = (name) => {
    const semaphore = this.#parts.locks.getSemaphore(name)
    return this.#take(name, this.#few(), this.#patience(), async (take, { permits, waitMs, use }) => {
      let over: (outcome: string) => void = () => undefined
      const returned = new Promise<string>((resolve) => (over = resolve))
      let giving: Promise<void> | undefined
      const work = async (): Promise<void> => {
        take.taken()
        await this.#work(name, use, permits)
        giving = take.release(() => returned)
      }
      try {
        await semaphore.withPermits(work, { permits, waitMs })
      } finally {
        over('released')
        await giving
      }
    })
  }

  readonly #once: Way = (name) => {
    const semaphore = this.#parts.locks.getSemaphore(name)
    return this.#take(name, this.#few(), 0, async (take, { permits, use }) => {
      if (!(await semaphore.tryAcquire(permits))) {
        take.refused()
        return
      }
      take.taken()
      await this.#work(name, use, permits)
      await take.release(() => semaphore.releaseIfExists(permits))
    })
  }

  /** With a lease of its own, which is set anew sometimes, later and earlier; or renewed. */
  readonly #ending: Way = (name) => {
    const { random, locks } = this.#parts
    const terms = random.chance(0.5) ? { leaseMs: this.#lease() } : { renew: true, ...this.#maybeImpatient() }
    const isUpdated = 'leaseMs' in terms && random.chance(0.5)
    return this.#take(name, 1, this.#patience(), async (take, { waitMs }) => {
      const permit = await locks.getPermitExpirableSemaphore(name).acquirePermit({ waitMs, ...terms })
      take.watch(permit)
      try {
        for (let part = random.whole(5); part > 0 && take.trust(permit); part -= 1) {
          // A change that has no answer yet must not be used as if nobody had asked for it.
          const changed = isUpdated ? this.#update(take, permit) : undefined
          await Promise.all([changed, sleep(workMs(random)).then(() => take.trust(permit))])
        }
      } catch (error) {
        if (!(error instanceof LockLostError)) throw error
      } finally {
        await take.release(() => permit.release())
      }
    })
  }

  async #update(take: Take, permit: Permit): Promise<void> {
    const leaseMs = this.#lease()
    // Noted before: a process that is stopped when it has sent it uses nothing any more.
    if (take.trust(permit, leaseMs)) await permit.updateLease(leaseMs)
  }

  /** A caller that has only an id knows what it asked for, and when. */
  readonly #byId: Way = (name) => {
    const semaphore = this.#parts.locks.getPermitExpirableSemaphore(name)
    return this.#take(name, 2, this.#patience(), async (take, { permits, waitMs }) => {
      const [leaseMs, sentAt] = [this.#lease(), nowMs()]
      const ids = await semaphore.acquireMany(permits, { waitMs, leaseMs })
      take.taken(sentAt + leaseMs)
      await sleep(workMs(this.#parts.random))
      await take.release(() => semaphore.tryRelease(ids))
    })
  }

  async #work(name: string, use: string, permits: number): Promise<void> {
    const { history, random, permits: most, register } = this.#parts
    const all = await register.use(name, use, permits)
    if (all > most) history.add('too-many', { name, inUse: all })
    await sleep(workMs(random))
    await register.endUse(name, use)
  }

  async #take(
    name: string,
    permits: number,
    waitMs: number,
    go: (take: Take, call: TakeCall) => Promise<void>,
  ): Promise<void> {
    const call = { name, use: `${this.#parts.name}#${(this.#uses += 1)}`, permits, waitMs }
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

  #maybeImpatient(): { signal?: AbortSignal } {
    const { random } = this.#parts
    return random.chance(0.3) ? { signal: AbortSignal.timeout(Math.round(random.between(0, 200))) } : {}
  }
}
