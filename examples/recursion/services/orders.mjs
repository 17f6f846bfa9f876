import { Locked } from '@holdfast/core/decorators'
import { decorate } from '../decorate.mjs'
import { reentrant } from '../reentrant.mjs'

export class Orders {
  placed = []

  /** @param {import('./stock.mjs').Stock} stock @param {import('./ledger.mjs').Ledger} ledger */
  constructor(stock, ledger) {
    this.stock = stock
    this.ledger = ledger
  }

  /** @param {string} customer @param {string} article @returns {Promise<boolean>} */
  async place(customer, article) {
    if (this.placed.some((order) => order.customer === customer)) return false // one for each
    await this.ledger.write(customer, `wants ${article}`)
    if (!(await this.stock.reserve(customer, article))) return false
    this.placed.push({ customer, article })
    await this.confirm(customer)
    return true
  }

  /** Anybody may ask for it again, also while no order is being placed. */
  async confirm(customer) {
    await this.ledger.write(customer, 'was told')
  }
}

// @Locked({ name: 'order:{0}', onBusy: 'wait' }), twice: one lock for each customer
const locked = Locked({ name: 'recursion:order:{0}', onBusy: 'wait', lock: reentrant })
decorate(Orders, { place: locked, confirm: locked })
