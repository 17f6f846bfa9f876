import { setTimeout as sleep } from 'node:timers/promises'
import { LockLostError, type Hold } from '@holdfast/core'
import type { Mode } from '@holdfast/faults/harness'
import { Attempt, noteLoss, release, trust, type Held } from '../../workload/attempt.js'
import { kindOf, lockNamed, readWriteNamed, type PlainFace } from '../../workload/lock-kinds.js'
import { workMs, type CallerParts } from './workload.js'

const LONGEST_WAIT_MS = 2_500
/** The share of readers among callers of a read-write lock. */
const READERS = 0.7
/** How often an owner whose register is guarded writes without a look at its lock. */
const CARELESS = 0.3
const CARELESS_MS = 25

/** A lock that a caller aims at, and whether it wants to read or to write. */
interface Target {
  readonly name: string
  readonly lock: PlainFace
  readonly mode?: Mode
}

/** One caller that wants locks, in every way there is, and writes down what it was told. */
export class LockCaller {
  readonly #parts: CallerParts
  #attempts = 0

  constructor(parts: CallerParts) {
    this.#parts = parts
  }

  async step(): Promise<void> {
    const { random } = this.#parts
    const target = this.#aim()
    await random.pick(this.#waysOf(target))(target)
    await sleep(random.between(0, 30))
  }

  #aim(): Target {
    const { locks, names, random } = this.#parts
    const name = random.pick(names)
    if (kindOf(name) !== 'read-write') return { name, lock: lockNamed(locks, name) }
    const both = readWriteNamed(locks, name)
    const mode = random.chance(READERS) ? 'shared' : 'exclusive'
    return { name, lock: mode === 'shared' ? both.readLock() : both.writeLock(), mode }
  }

  #waysOf({ mode }: Target): ((target: Target) => Promise<unknown>)[] {
    const ways = [this.#byCallback, this.#byHold, this.#once, this.#impatient, this.#reentrant]
    return mode === 'exclusive' ? [...ways, this.#downgrade, this.#downgrade] : ways
  }

  readonly #byCallback = (target: Target): Promise<unknown> => {
    const { history } = this.#parts
    const waitMs = this.#patience()
    return this.#attempt(target, waitMs, async (attempt) => {
      let held: Held | undefined
      await target.lock.withLock(
        async (hold) => {
          held = attempt.acquired(hold)
          try {
            await this.#work(held)
          } finally {
            history.add('release-begin', { lock: held.lock, owner: held.owner })
          }
        },
        { waitMs },
      )
      if (held) history.add('released', { lock: held.lock, owner: held.owner, outcome: 'released' })
    })
  }

  readonly #byHold = (target: Target): Promise<unknown> => {
    const { random, leaseMs } = this.#parts
    const waitMs = this.#patience()
    const lease = random.chance(0.3) ? { leaseMs: Math.round(random.between(300, leaseMs)) } : {}
    return this.#attempt(target, waitMs, async (attempt) => {
      const held = attempt.acquired(await target.lock.acquire({ waitMs, ...lease }))
      await this.#workAndRelease({ ...held, ...lease })
    })
  }

  readonly #once = (target: Target): Promise<unknown> =>
    this.#attempt(target, 0, async (attempt) => {
      const hold = await target.lock.tryAcquire()
      if (hold) await this.#workAndRelease(attempt.acquired(hold))
      else attempt.refused()
    })

  readonly #impatient = (target: Target): Promise<unknown> => {
    const signal = AbortSignal.timeout(Math.round(this.#parts.random.between(0, 200)))
    return this.#attempt(target, LONGEST_WAIT_MS, async (attempt) => {
      const hold = await target.lock.acquire({ signal, waitMs: LONGEST_WAIT_MS })
      await this.#workAndRelease(attempt.acquired(hold))
    })
  }

  /** A reader gets in again also while a writer waits for it. */
  readonly #reentrant = (target: Target): Promise<unknown> => {
    const { locks, history } = this.#parts
    const { lock } = target
    const waitMs = this.#patience()
    return locks.run(() =>
      this.#attempt(target, waitMs, async (attempt) => {
        const held = attempt.acquired(await lock.acquire({ waitMs }))
        let inner
        try {
          inner = await lock.acquire({ leaseMs: 500 })
          await expectCount(lock, held.hold, 2)
          await this.#work(held)
          await inner.release()
          await expectCount(lock, held.hold, 1)
        } finally {
          try {
            await inner?.release()
          } finally {
            // Whatever the inner release met: a hold that nobody releases would be renewed for good.
            await release(history, held)
          }
        }
      }),
    )
  }

  /** Writes, takes the read lock besides, releases the write lock and reads on. */
  readonly #downgrade = (target: Target): Promise<unknown> => {
    const { locks } = this.#parts
    const reader = readWriteNamed(locks, target.name).readLock()
    const waitMs = this.#patience()
    return locks.run(() =>
      this.#attempt(target, waitMs, async (attempt) => {
        const writing = attempt.acquired(await target.lock.acquire({ waitMs }))
        const reading = await this.#attempt({ ...target, mode: 'shared' }, waitMs, async (inner) => {
          await this.#readOn(writing, await reader.acquire({ waitMs }), inner)
        })
        // It got no read lock, so nothing released the write lock.
        if (!reading.isHeld) await this.#workAndRelease(writing)
      }),
    )
  }

  async #readOn(writing: Held, hold: Hold, attempt: Attempt): Promise<void> {
    const { history } = this.#parts
    // An owner whose write lock was lost meanwhile is a reader like any other. Not one whose write lock is only in
    // doubt, after a restart of Redis: it trusts neither lock then, and both again when it has asked.
    const isWriter = !writing.hold.signal.aborted
    const reading = isWriter ? attempt.acquiredBesides(hold, writing) : attempt.acquired(hold)
    try {
      try {
        await this.#work(writing)
      } finally {
        // From here on it trusts for as long as the read lock says.
        if (isWriter) {
          noteLoss(history, reading)
          trust(history, reading)
        }
        await release(history, writing)
      }
      await this.#work(reading)
    } finally {
      await release(history, reading)
    }
  }

  #patience(): number {
    return this.#parts.random.between(100, LONGEST_WAIT_MS)
  }

  async #attempt(
    { name, mode }: Target,
    waitMs: number,
    go: (attempt: Attempt) => Promise<void>,
  ): Promise<Attempt> {
    const { history } = this.#parts
    const id = `${this.#parts.name}#${(this.#attempts += 1)}`
    const attempt = new Attempt(history, { lock: name, attempt: id, mode, deadlineMs: waitMs })
    try {
      await go(attempt)
    } catch (error) {
      attempt.endedBy(error)
    }
    return attempt
  }

  async #workAndRelease(held: Held): Promise<void> {
    try {
      await this.#work(held)
    } finally {
      await release(this.#parts.history, held)
    }
  }

  /**
   * The work of an owner: it writes, or reads, while it may trust its lock. Where tokens guard the register it writes also
   * without having looked, as code does that goes on after a pause before Holdfast can tell it anything.
   */
  async #work(held: Held): Promise<void> {
    const { random } = this.#parts
    const { hold, leaseMs } = held
    for (let part = random.whole(5); part > 0; part -= 1) {
      if (hold.token !== undefined && random.chance(CARELESS)) {
        // A lease that is not renewed may be over by then, and another owner may have written.
        await sleep(random.between(0, leaseMs === undefined ? CARELESS_MS : 2 * leaseMs))
      } else {
        await sleep(workMs(random))
        if (random.chance(0.1)) await hold.verify()
        if (random.chance(0.1)) await hold.extend(600)
        if (!this.#trusts(held)) return
      }
      if (held.mode !== 'shared') await this.#write(held)
    }
  }

  #trusts(held: Held): boolean {
    try {
      held.hold.ensure()
    } catch (error) {
      if (error instanceof LockLostError) return false
      throw error
    }
    return trust(this.#parts.history, held) !== undefined
  }

  async #write({ hold: { token }, lock, owner }: Held): Promise<void> {
    const { history, register } = this.#parts
    const decision = token === undefined ? { accepted: true } : await register.write(lock, token, owner)
    history.add('write', { lock, owner, token, ...decision })
  }
}

/** I2, as long as nobody has taken the lock away. */
const expectCount = async (lock: PlainFace, hold: Held['hold'], expected: number): Promise<void> => {
  const count = await lock.getHoldCount()
  if (count !== expected && !hold.signal.aborted && hold.trustedForMs > 0) {
    // LockLostError: it had been taken away, and this client did not know it yet.
    await hold.verify()
    throw new Error(`Redis counts ${count} holds of ${lock.name} for ${hold.owner}, not ${expected} (I2)`)
  }
}
