import { setTimeout as sleep } from 'node:timers/promises'
import { LockLostError } from '@holdfast/core'
import { nowMs } from '../shared-clock.mjs'
import { kindOf, semaphoreNamed } from './names.mjs'
import { Use } from './use.mjs'

const LONGEST_WAIT_MS = 2_000
const LONGEST_STEP_MS = 25

/** One caller that wants permits, again and again, in every way there is, and writes down what it was told. */
export class Caller {
  uses = 0
  #parts
  #over = false

  /** @param {{ locks: any, names: string[], truth: any, history: any, random: any, leaseMs: number, name: string }} parts */
  constructor(parts) {
    this.#parts = parts
  }

  stop() {
    this.#over = true
  }

  async run() {
    const { locks, names, random } = this.#parts
    while (!this.#over) {
      const name = random.pick(names)
      const semaphore = semaphoreNamed(locks, name)
      const ways =
        kindOf(name) === 'permits'
          ? [this.#leased, this.#renewed, this.#byId, this.#impatientPermit, this.#updated]
          : [this.#byHand, this.#byHand, this.#byCallback, this.#once, this.#impatient]
      await random.pick(ways).call(this, name, semaphore)
      await sleep(random.between(0, 20))
    }
  }

  #byHand(name, pool) {
    return this.#use(name, this.#few(), this.#patience(), async (use, { permits, waitMs, id }) => {
      await pool.acquire({ permits, waitMs })
      use.taken()
      await this.#work(name, id, permits)
      await use.giveBack(() => pool.release(permits))
    })
  }

  #byCallback(name, pool) {
    return this.#use(name, this.#few(), this.#patience(), async (use, { permits, waitMs, id }) => {
      let over
      const returned = new Promise((resolve) => (over = resolve))
      let giving
      try {
        await pool.withPermits(
          async () => {
            use.taken()
            await this.#work(name, id, permits)
            giving = use.giveBack(() => returned)
          },
          { permits, waitMs },
        )
      } finally {
        over('released')
        await giving
      }
    })
  }

  #once(name, pool) {
    return this.#use(name, this.#few(), 0, async (use, { permits, id }) => {
      if (!(await pool.tryAcquire(permits))) return use.refused()
      use.taken()
      await this.#work(name, id, permits)
      await use.giveBack(() => pool.releaseIfExists(permits))
    })
  }

  #impatient(name, pool) {
    return this.#use(name, this.#few(), LONGEST_WAIT_MS, async (use, { permits, waitMs, id }) => {
      await pool.acquire({ permits, waitMs, signal: this.#hurry() })
      use.taken()
      await this.#work(name, id, permits)
      await use.giveBack(() => pool.release(permits))
    })
  }

  #leased(name, seats) {
    return this.#usePermit(name, seats, { leaseMs: this.#lease() })
  }

  #renewed(name, seats) {
    return this.#usePermit(name, seats, { renew: true })
  }

  #impatientPermit(name, seats) {
    return this.#usePermit(name, seats, { renew: true, signal: this.#hurry() })
  }

  /** Sets other ends, later and earlier ones. */
  #updated(name, seats) {
    return this.#usePermit(name, seats, { leaseMs: this.#lease() }, (permit, use) => {
      const leaseMs = this.#lease()
      // Said before: a process that is stopped when it has sent it uses nothing any more.
      return use.trust(permit, leaseMs) && permit.updateLease(leaseMs)
    })
  }

  #usePermit(name, seats, terms, change = () => undefined) {
    const { random } = this.#parts
    return this.#use(name, 1, this.#patience(), async (use, { waitMs }) => {
      const permit = await seats.acquirePermit({ waitMs, ...terms })
      use.watch(permit)
      try {
        for (let step = random.whole(5); step > 0 && use.trust(permit); step -= 1) {
          // A change that has no answer yet must not be used as if nobody had asked for it.
          const changed = Promise.resolve(change(permit, use))
          await Promise.all([changed, this.#workWhileChanging(use, permit)])
        }
      } catch (error) {
        if (!(error instanceof LockLostError)) throw error
      } finally {
        await use.giveBack(() => permit.release())
      }
    })
  }

  /** Whoever has only an id knows what it asked for, and when. */
  #byId(name, seats) {
    return this.#use(name, 2, this.#patience(), async (use, { permits, waitMs }) => {
      const [leaseMs, sentAt] = [this.#lease(), nowMs()]
      const ids = await seats.acquireMany(permits, { waitMs, leaseMs })
      use.taken(sentAt + leaseMs)
      await sleep(this.#parts.random.between(0, LONGEST_STEP_MS))
      await use.giveBack(() => seats.tryRelease(ids))
    })
  }

  async #workWhileChanging(use, permit) {
    await sleep(this.#parts.random.between(0, LONGEST_STEP_MS))
    use.trust(permit)
  }

  async #work(name, id, permits) {
    const { truth, history, random, permits: most } = this.#parts
    const inUse = await truth.begin(name, id, permits)
    if (inUse > most) history.add('crowd', { name, inUse })
    await sleep(random.between(0, 3 * LONGEST_STEP_MS))
    await truth.end(name, id)
  }

  async #use(name, permits, waitMs, go) {
    const id = `${this.#parts.name}#${(this.uses += 1)}`
    const use = new Use(this.#parts.history, { name, use: id, permits, waitMs })
    try {
      await go(use, { permits, waitMs, id })
    } catch (error) {
      use.endedBy(error)
    }
  }

  #few() {
    return 1 + this.#parts.random.whole(2)
  }

  #lease() {
    return Math.round(this.#parts.random.between(300, this.#parts.leaseMs))
  }

  #patience() {
    return this.#parts.random.between(100, LONGEST_WAIT_MS)
  }

  #hurry() {
    return globalThis.AbortSignal.timeout(Math.round(this.#parts.random.between(0, 200)))
  }
}
