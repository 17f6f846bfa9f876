import { randomBytes } from 'node:crypto'

/** Everything that a scenario works with: the server, what was asked for, and what could not be loaded. */
export class Context {
  /** Part of every name this run uses, so that what it leaves behind can be found. */
  runId = randomBytes(6).toString('hex')
  /** @type {{ name: string, reason: string }[]} */
  missing = []

  /**
   * @param {object} given
   * @param {string} given.url
   * @param {import('./redis-info.mjs').RedisInfo} given.info
   * @param {AbortSignal} given.signal
   * @param {(line: string) => void} given.log
   * @param {string[]} given.contestants texts, one of which is in "setting: name"; none: all
   */
  constructor({ url, info, signal, log, contestants }) {
    Object.assign(this, { url, info, signal, log, contestants })
  }

  /** The same run on another way to the same server, with names of its own. */
  through(url, part) {
    return Object.assign(Object.create(Context.prototype), this, { url, runId: `${this.runId}-${part}` })
  }

  isChosen(text) {
    const { contestants } = this
    return contestants.length === 0 || contestants.some((each) => text.toLowerCase().includes(each))
  }

  /** The name of a lock. */
  name(...parts) {
    return ['bench', this.runId, ...parts.map((part) => part.replaceAll(/[^\w]+/g, '-'))].join(':')
  }

  /** Notes a peer that does not load on this Node. */
  leaveOut(name, reason) {
    if (!this.missing.some((each) => each.name === name)) this.missing.push({ name, reason })
  }
}
