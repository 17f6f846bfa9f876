import { setTimeout as sleep } from 'node:timers/promises'
import { kindOf, lockNamed } from '../torture/lock-names.mjs'

const LONGEST_WAIT_MS = 1_500
const LONGEST_WORK_MS = 20
// What the names of the torture run are called by the metrics.
const KINDS = { lock: 'reentrant', fair: 'fair', spin: 'spin', fenced: 'fenced', multi: 'multi' }
export const POOL = 'pool:1'
export const SEATS = 'seats:1'

/** One caller that wants locks and permits, again and again, and counts what it is told. */
export class Caller {
  #parts
  #over = false

  /** @param {{ locks: any, names: string[], tally: import('./tally.mjs').Tally, random: any, leaseMs: number }} parts */
  constructor(parts) {
    this.#parts = parts
  }

  stop() {
    this.#over = true
  }

  async run() {
    const { random, names } = this.#parts
    const ofLocks = [this.#hold, this.#hold, this.#callback, this.#once, this.#impatient]
    const others = [this.#pool, this.#seat]
    while (!this.#over) {
      if (random.chance(0.2)) await random.pick(others).call(this)
      else {
        const { lock, kind } = this.#aim(random.pick(names))
        const isSimple = ['reentrant', 'fair', 'fenced'].includes(kind)
        await random.pick(isSimple ? [...ofLocks, this.#reentrant] : ofLocks).call(this, lock, kind)
      }
      await sleep(random.between(0, 15))
    }
  }

  #aim(name) {
    const { locks, random } = this.#parts
    const named = lockNamed(locks, name)
    if (kindOf(name) !== 'read-write') return { lock: named, kind: KINDS[kindOf(name)] }
    return random.chance(0.6)
      ? { lock: named.readLock(), kind: 'read' }
      : { lock: named.writeLock(), kind: 'write' }
  }

  #hold(lock, kind) {
    const { tally, random, leaseMs } = this.#parts
    const lease = random.chance(0.3) ? { leaseMs: Math.round(random.between(100, leaseMs)) } : {}
    return tally.call(kind, undefined, async (acquired) => {
      const hold = await lock.acquire({ waitMs: this.#patience(), ...lease })
      acquired()
      await this.#work()
      await hold.release()
    })
  }

  #callback(lock, kind) {
    return this.#parts.tally.call(kind, undefined, (acquired) =>
      lock.withLock(
        async () => {
          acquired()
          await this.#work()
        },
        { waitMs: this.#patience() },
      ),
    )
  }

  #once(lock, kind) {
    return this.#parts.tally.call(kind, undefined, async (acquired) => {
      const hold = await lock.tryAcquire()
      if (!hold) return null
      acquired()
      await this.#work()
      return hold.release()
    })
  }

  #impatient(lock, kind) {
    const signal = globalThis.AbortSignal.timeout(Math.round(this.#parts.random.between(0, 150)))
    return this.#parts.tally.call(kind, signal, async (acquired) => {
      const hold = await lock.acquire({ signal })
      acquired()
      await this.#work()
      await hold.release()
    })
  }

  #reentrant(lock, kind) {
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

  #pool() {
    const { locks, tally } = this.#parts
    return tally.call('semaphore', undefined, (acquired) =>
      locks.getSemaphore(POOL).withPermits(
        async () => {
          acquired()
          await this.#work()
        },
        { waitMs: this.#patience() },
      ),
    )
  }

  #seat() {
    const { locks, tally } = this.#parts
    return tally.call('permit', undefined, async (acquired) => {
      const options = { renew: true, waitMs: this.#patience() }
      const permit = await locks.getPermitExpirableSemaphore(SEATS).acquirePermit(options)
      acquired()
      await this.#work()
      // A permit emits nothing when its release finds that it had ended.
      if ((await permit.release()) === 'lost' && permit.lossError === null) tally.lost('gone')
    })
  }

  /** Sometimes so long that a renewal comes meanwhile, sometimes so short that the lock is passed on. */
  #work() {
    const { random, leaseMs } = this.#parts
    if (random.chance(0.3)) return Promise.resolve()
    return sleep(random.between(0, random.chance(0.1) ? leaseMs : LONGEST_WORK_MS))
  }

  #patience() {
    return Math.round(this.#parts.random.between(20, LONGEST_WAIT_MS))
  }
}
