import { setTimeout as sleep } from 'node:timers/promises'
import { Locked } from '@holdfast/core/decorators'
import { nowMs } from './time.mjs'

const WORK_MS = 40

class Payments {
  async pay() {
    const from = nowMs()
    await sleep(WORK_MS)
    return { from, to: nowMs() }
  }
}

/**
 * `@Locked(options)` above `pay()`, as a compiler applies it: Node has no syntax for it yet.
 *
 * @param {import('@holdfast/core/decorators').LockedOptions} options
 */
const decorated = (options) => Locked(options)(Payments.prototype.pay, { kind: 'method', name: 'pay' })

/** @param {import('@holdfast/core').LockClient} locks */
export const paymentTasks = (locks) => ({
  /** So many calls at once: when each ran, or why it did not. */
  pay: ({ calls, lockName, ...policies }) => {
    const pay = decorated({ name: lockName, client: locks, ...policies })
    const payments = new Payments()
    return Promise.all(
      Array.from({ length: calls }, () =>
        pay.call(payments).then(
          (ran) => ran ?? { skipped: true },
          ({ code }) => ({ error: code }),
        ),
      ),
    )
  },
})
