import { setImmediate as turn } from 'node:timers/promises'
import { Locked, currentHold } from '@holdfast/core/decorators'
import { decorate } from '../decorate.mjs'
import { reentrant } from '../reentrant.mjs'

const BUNDLES = {
  'garden set': ['tool set', 'bench'],
  'tool set': ['spade', 'rake'],
}

/** How many there are of each article; a bundle is its parts, which may be bundles. */
export class Stock {
  deepest = 0

  /** @param {Record<string, number>} articles @param {import('./ledger.mjs').Ledger} ledger */
  constructor(articles, ledger) {
    this.articles = articles
    this.ledger = ledger
  }

  /**
   * @param {string} customer
   * @param {string} article
   * @returns {Promise<boolean>} false: there is too little, and nothing was reserved
   */
  async reserve(customer, article) {
    this.deepest = Math.max(this.deepest, currentHold().count)
    const parts = BUNDLES[article]
    if (!parts) return this.#take(customer, article)
    const reserved = []
    for (const part of parts) {
      if (await this.reserve(customer, part)) reserved.push(part)
      else break
    }
    if (reserved.length === parts.length) return true
    for (const part of reserved) await this.putBack(customer, part)
    return false
  }

  /** @param {string} customer @param {string} article */
  async putBack(customer, article) {
    for (const part of BUNDLES[article] ?? []) await this.putBack(customer, part)
    if (article in this.articles) this.articles[article] += 1
    await this.ledger.write(customer, `put back ${article}`)
  }

  async #take(customer, article) {
    const left = this.articles[article]
    await turn() // a slow database: whoever else reads now sees the same number
    if (left === 0) return false
    this.articles[article] = left - 1
    await this.ledger.write(customer, `reserved ${article}`)
    return true
  }
}

// @Locked({ name: 'stock', onBusy: 'wait' }), twice
const locked = Locked({ name: 'recursion:stock', onBusy: 'wait', lock: reentrant })
decorate(Stock, { reserve: locked, putBack: locked })
