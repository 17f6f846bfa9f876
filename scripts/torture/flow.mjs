import { setTimeout as sleep } from 'node:timers/promises'
import { Attempt, release } from './attempt.mjs'
import { kindOf, lockNamed } from './lock-names.mjs'
import { trust, work } from './work.mjs'

const LONGEST_WAIT_MS = 2_500
/** Of the callers of a read-write lock. */
const READERS = 0.7

/** One caller that wants locks, again and again, in every way there is, and writes down what it was told. */
export class Flow {
  acquisitions = 0
  #parts
  #attempts = 0
  #over = false

  /**
   * @param {{ locks: any, names: string[], register: any, history: any, random: any, leaseMs: number,
   *   name: string }} parts
   */
  constructor(parts) {
    this.#parts = parts
  }

  stop() {
    this.#over = true
  }

  async run() {
    const { random } = this.#parts
    while (!this.#over) {
      const target = this.#aim()
      await random.pick(this.#waysOf(target)).call(this, target)
      await sleep(random.between(0, 30))
    }
  }

  /** Which lock, and whether to read or to write it. */
  #aim() {
    const { locks, names, random } = this.#parts
    const name = random.pick(names)
    const named = lockNamed(locks, name)
    if (kindOf(name) !== 'read-write') return { name, lock: named }
    const mode = random.chance(READERS) ? 'shared' : 'exclusive'
    const lock = mode === 'shared' ? named.readLock() : named.writeLock()
    return { name, lock, mode, reader: named.readLock() }
  }

  #waysOf({ mode }) {
    const ways = [this.#byCallback, this.#byHold, this.#once, this.#impatient, this.#reentrant]
    return mode === 'exclusive' ? [...ways, this.#downgrade, this.#downgrade] : ways
  }

  #byCallback(target) {
    const { history } = this.#parts
    const waitMs = this.#patience()
    return this.#attempt(target, waitMs, async (told) => {
      let held
      await target.lock.withLock(
        async (hold) => {
          held = told.acquired(hold)
          try {
            await work(this.#parts, held)
          } finally {
            history.add('release-begin', { lock: held.lock, owner: held.owner })
          }
        },
        { waitMs },
      )
      history.add('released', { lock: held.lock, owner: held.owner, outcome: 'released' })
    })
  }

  #byHold(target) {
    const { random, leaseMs } = this.#parts
    const waitMs = this.#patience()
    const leaseOrNot = random.chance(0.3) ? { leaseMs: Math.round(random.between(300, leaseMs)) } : {}
    return this.#attempt(target, waitMs, async (told) => {
      const held = told.acquired(await target.lock.acquire({ waitMs, ...leaseOrNot }))
      await this.#workAndRelease({ ...held, ...leaseOrNot })
    })
  }

  #once(target) {
    return this.#attempt(target, 0, async (told) => {
      const hold = await target.lock.tryAcquire()
      if (hold) await this.#workAndRelease(told.acquired(hold))
      else told.refused()
    })
  }

  #impatient(target) {
    const { random } = this.#parts
    const signal = globalThis.AbortSignal.timeout(Math.round(random.between(0, 200)))
    return this.#attempt(target, LONGEST_WAIT_MS, async (told) => {
      const hold = await target.lock.acquire({ signal, waitMs: LONGEST_WAIT_MS })
      await this.#workAndRelease(told.acquired(hold))
    })
  }

  /** A reader gets in again also while a writer waits for it. */
  #reentrant(target) {
    const { locks, history } = this.#parts
    const { lock } = target
    const waitMs = this.#patience()
    return locks.run(() =>
      this.#attempt(target, waitMs, async (told) => {
        const held = told.acquired(await lock.acquire({ waitMs }))
        let inner
        try {
          inner = await lock.acquire({ leaseMs: 500 })
          await expectCount(lock, held.hold, 2)
          await work(this.#parts, held)
          await inner.release()
          await expectCount(lock, held.hold, 1)
        } finally {
          await inner?.release()
          await release(history, held)
        }
      }),
    )
  }

  /** Writes, takes the read lock besides, gives the write lock back and reads on. */
  #downgrade(target) {
    const { locks } = this.#parts
    const waitMs = this.#patience()
    return locks.run(() =>
      this.#attempt(target, waitMs, async (told) => {
        const writing = told.acquired(await target.lock.acquire({ waitMs }))
        const besides = { ...target, mode: 'shared' }
        await this.#attempt(besides, waitMs, async (inner) => {
          const hold = await target.reader.acquire({ waitMs })
          await this.#readOn(writing, hold, inner)
        })
        if (!writing.isReleased) await this.#workAndRelease(writing)
      }),
    )
  }

  async #readOn(writing, hold, told) {
    const { history } = this.#parts
    // Whose write lock was lost meanwhile is a reader like any other. Not whose is only in doubt, after a restart of
    // Redis: it trusts neither lock then, and both again when it has asked.
    const isWriter = !writing.hold.signal.aborted
    const reading = told.acquired(hold, isWriter ? writing.owner : hold.owner)
    try {
      try {
        await work(this.#parts, writing)
      } finally {
        // From here on it believes for as long as the read lock says.
        if (isWriter) trust(history, reading)
        writing.isReleased = true
        await release(history, writing)
      }
      await work(this.#parts, reading)
    } finally {
      await release(history, reading)
    }
  }

  #patience() {
    return this.#parts.random.between(100, LONGEST_WAIT_MS)
  }

  async #attempt({ name, mode }, waitMs, go) {
    const { history } = this.#parts
    const attempt = `${this.#parts.name}#${(this.#attempts += 1)}`
    const told = new Attempt(history, { lock: name, attempt, mode, deadlineMs: waitMs })
    try {
      await go(told)
    } catch (error) {
      told.endedBy(error)
    } finally {
      if (told.isHeld) this.acquisitions += 1
    }
  }

  async #workAndRelease(held) {
    try {
      await work(this.#parts, held)
    } finally {
      await release(this.#parts.history, held)
    }
  }
}

/** I2, as long as nobody has taken the lock away. */
async function expectCount(lock, hold, expected) {
  const count = await lock.getHoldCount()
  if (count !== expected && !hold.signal.aborted && hold.trustedForMs > 0) {
    await hold.verify() // LockLostError: it had been taken away, and that is not yet known here
    throw new Error(`Redis counts ${count} holds of ${lock.name} for ${hold.owner}, not ${expected} (I2)`)
  }
}
