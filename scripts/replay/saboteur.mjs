import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { count } from './counts.mjs'
import { isAbout, isRenewal } from './requests.mjs'

const LATEST_COPY_MS = 5_000
// How long a command is on its way, roughly: a cut within it comes before Redis has run the command, or after.
const ON_ITS_WAY_MS = 3
const LOSSES = [
  ...['reply lost', 'reply lost', 'reply lost, copied', 'reply lost, copied', 'reply lost, copied'],
  ...['request lost', 'request lost, copied', 'request lost, copied'],
]
const KINDS = [...LOSSES, 'cut', 'cut']

/** Breaks what one client has under way, and lets what it sent arrive again up to 5 s later. */
export class Saboteur {
  /** How often something was broken, by what it hit and by how. */
  hits = new Map()
  kinds = new Map()
  copiesDelivered = 0
  #proxy
  #random
  #copies = new Set()

  /** @param {import('@holdfast/testing').FaultProxy} proxy */
  constructor(proxy, random) {
    this.#proxy = proxy
    this.#random = random
  }

  /**
   * Breaks the next request about a lock. `end` disarms that and says what happened; `tell` hears what happens later.
   *
   * @param {string} lock
   * @param {(line: string) => void} tell
   * @returns {{ end: (operation: string) => string }}
   */
  aim(lock, tell) {
    return this.#arm(this.#random.pick(KINDS), isAbout(lock), tell)
  }

  /** Breaks one of the watchdog's renewals after another, but not every one: a hold is lost without any. */
  async harassWatchdog(leaseMs, signal) {
    const stopped = once(signal, 'abort')
    while (!signal.aborted) {
      const sabotage = this.#arm(this.#random.pick(LOSSES), isRenewal(leaseMs), () => undefined)
      await Promise.race([sabotage.happened, stopped])
      sabotage.end('renewal of the watchdog')
      await Promise.race([sleep(this.#random.between(0, leaseMs / 3)), stopped])
    }
  }

  /** Resolves when the last copy has been delivered; rejects when one could not be. */
  async allDelivered() {
    while (this.#copies.size > 0) await Promise.all(this.#copies)
  }

  #arm(kind, match, tell) {
    const copyInMs = kind.endsWith('copied') ? this.#random.whole(LATEST_COPY_MS) : null
    let [happen, over, hit] = [null, false, false]
    const happened = new Promise((resolve) => (happen = resolve))
    const strike = () => {
      happen()
      return (hit = true)
    }
    const faults = this.#faults(kind, (bytes) => match(bytes) && strike())
    if (copyInMs !== null) faults.push(this.#copy(match, copyInMs, tell))
    if (kind === 'cut') {
      setTimeout(() => over || (strike() && this.#proxy.cutAll()), this.#random.between(0, ON_ITS_WAY_MS))
    }
    const end = (operation) => {
      over = true
      faults.forEach((fault) => fault.cancel())
      if (!hit) return 'nothing broken'
      count(this.hits, operation)
      count(this.kinds, kind)
      return copyInMs === null ? kind : `${kind} in ${copyInMs} ms`
    }
    return { happened, end }
  }

  #faults(kind, match) {
    const proxy = this.#proxy
    if (kind.startsWith('reply')) return [proxy.loseReply(match, this.#random.chance(0.2) ? 2 : 1)]
    return kind.startsWith('request') ? [proxy.loseRequest(match)] : []
  }

  #copy(match, delayMs, tell) {
    const copy = this.#proxy.copyLate((bytes) => match(bytes) && expect(), delayMs)
    const expect = () => {
      const delivered = copy.happened.then(() => {
        this.copiesDelivered += 1
        this.#copies.delete(delivered)
        tell('a late copy was delivered')
      })
      // One that failed stays, for `allDelivered` to reject with.
      delivered.catch(() => undefined)
      this.#copies.add(delivered)
      return true
    }
    return copy
  }
}
