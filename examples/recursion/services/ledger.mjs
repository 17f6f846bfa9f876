import { setImmediate as turn } from 'node:timers/promises'
import { Locked, currentHold } from '@holdfast/core/decorators'
import { decorate } from '../decorate.mjs'
import { reentrant } from '../reentrant.mjs'

/** The deeds of each customer, in an order that everybody agrees on. */
export class Ledger {
  entries = []
  deepest = 0

  /** @param {string} customer @param {string} what */
  async write(customer, what) {
    this.deepest = Math.max(this.deepest, currentHold().count)
    const number = this.entries.length + 1
    await turn() // whoever else writes now takes the same number
    this.entries.push({ number, customer, what })
  }
}

// @Locked({ name: 'ledger', onBusy: 'wait' })
decorate(Ledger, { write: Locked({ name: 'recursion:ledger', onBusy: 'wait', lock: reentrant }) })
