import { setTimeout as sleep } from 'node:timers/promises'
import { LockError, LockLostError } from '@holdfast/core'
import { nowMs } from './history-file.mjs'

const LONGEST_WAIT_MS = 2_500

/** One caller that wants locks, again and again, in every way there is, and writes down what it was told. */
export class Flow {
  acquisitions = 0
  #parts
  #attempts = 0
  #over = false

  /** @param {{ locks: any, names: string[], history: any, random: any, leaseMs: number, name: string }} parts */
  constructor(parts) {
    this.#parts = parts
  }

  stop() {
    this.#over = true
  }

  async run() {
    const { random } = this.#parts
    while (!this.#over) {
      await random
        .pick([this.#byCallback, this.#byHold, this.#once, this.#impatient, this.#reentrant])
        .call(this)
      await sleep(random.between(0, 30))
    }
  }

  #byCallback() {
    const { history } = this.#parts
    const waitMs = this.#patience()
    return this.#attempt(waitMs, async (lock, told) => {
      let held
      await lock.withLock(
        async (hold) => {
          held = told.acquired(hold)
          try {
            await this.#work(held)
          } finally {
            history.add('release-begin', { lock: held.lock, owner: hold.owner })
          }
        },
        { waitMs },
      )
      history.add('released', { lock: held.lock, owner: held.hold.owner, outcome: 'released' })
    })
  }

  #byHold() {
    const { random, leaseMs } = this.#parts
    const waitMs = this.#patience()
    const leaseOrNot = random.chance(0.3) ? { leaseMs: Math.round(random.between(300, leaseMs)) } : {}
    return this.#attempt(waitMs, async (lock, told) => {
      await this.#workAndRelease(told.acquired(await lock.acquire({ waitMs, ...leaseOrNot })))
    })
  }

  #once() {
    return this.#attempt(0, async (lock, told) => {
      const hold = await lock.tryAcquire()
      if (hold) await this.#workAndRelease(told.acquired(hold))
      else told.refused()
    })
  }

  #impatient() {
    const { random } = this.#parts
    const signal = globalThis.AbortSignal.timeout(Math.round(random.between(0, 200)))
    return this.#attempt(LONGEST_WAIT_MS, async (lock, told) => {
      const hold = await lock.acquire({ signal, waitMs: LONGEST_WAIT_MS })
      await this.#workAndRelease(told.acquired(hold))
    })
  }

  #reentrant() {
    const { locks } = this.#parts
    const waitMs = this.#patience()
    return locks.run(() =>
      this.#attempt(waitMs, async (lock, told) => {
        const held = told.acquired(await lock.acquire({ waitMs }))
        let inner
        try {
          inner = await lock.acquire({ leaseMs: 500 })
          await expectCount(lock, held.hold, 2)
          await this.#work(held)
          await inner.release()
          await expectCount(lock, held.hold, 1)
        } finally {
          await inner?.release()
          await this.#release(held)
        }
      }),
    )
  }

  #patience() {
    return this.#parts.random.between(100, LONGEST_WAIT_MS)
  }

  async #attempt(waitMs, go) {
    const { locks, names, history, random, name } = this.#parts
    const lock = random.pick(names)
    const attempt = `${name}#${(this.#attempts += 1)}`
    history.add('acquire-begin', { lock, attempt, deadlineMs: waitMs })
    let isHeld = false
    const told = {
      acquired: (hold) => {
        isHeld = true
        this.acquisitions += 1
        const trustedUntilMs = nowMs() + hold.trustedForMs
        history.add('acquired', { lock, attempt, owner: hold.owner, trustedUntilMs })
        hold.signal.addEventListener('abort', () =>
          history.add('lost', { lock, owner: hold.owner, reason: hold.signal.reason.reason }),
        )
        return { hold, lock }
      },
      refused: () => history.add('refused', { lock, attempt }),
    }
    try {
      await go(locks.getLock(lock), told)
    } catch (error) {
      // What comes after the lock was taken is no outcome of the attempt to take it.
      if (!isHeld) this.#failed(error, { lock, attempt })
      else if (!(error instanceof LockError)) throw error
    }
  }

  #failed(error, where) {
    const { history } = this.#parts
    if (error.code === 'LOCK_TIMEOUT') history.add('refused', where)
    else if (error instanceof LockError) history.add('failed', { ...where, code: error.code })
    else if (error.name === 'TimeoutError') history.add('aborted', where)
    else throw error
  }

  /** Does things only while it may believe in its lock, and says until when it may. */
  async #work({ hold, lock }) {
    const { history, random } = this.#parts
    for (let step = random.whole(5); step > 0; step -= 1) {
      await sleep(random.between(0, 25))
      if (random.chance(0.1)) await hold.verify()
      if (random.chance(0.1)) await hold.extend(600)
      try {
        hold.ensure()
      } catch (error) {
        if (error instanceof LockLostError) return
        throw error
      }
      history.add('trusted', { lock, owner: hold.owner, untilMs: nowMs() + hold.trustedForMs })
      history.add('write', { lock, owner: hold.owner, accepted: true })
    }
  }

  async #workAndRelease(held) {
    try {
      await this.#work(held)
    } finally {
      await this.#release(held)
    }
  }

  async #release({ hold, lock }) {
    const { history } = this.#parts
    const { owner } = hold
    history.add('release-begin', { lock, owner })
    history.add('released', { lock, owner, outcome: await hold.release() })
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
