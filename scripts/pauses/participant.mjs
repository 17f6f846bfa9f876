import { once } from 'node:events'
import { fencedSet, LockClient, LockError } from '@holdfast/core'
import { Redis } from 'ioredis'
import { openHistory } from '../torture/history-file.mjs'
import { nowMs } from '../shared-clock.mjs'
import { Turns } from './turns.mjs'

/** Locks whose names begin so come with a token. */
const FENCED = 'fenced:'

/** One process that wants locks and writes down what it was told and what it did. */
export class Participant {
  turns = new Turns()
  history
  /** The user's own connection, which no delay slows down. */
  user
  #locks
  #redis
  #attempts = 0
  #name

  /** @param {{ name: string, file: string, port: number, directPort: number, leaseMs: number, commandTimeoutMs: number }} settings */
  async open({ name, file, port, directPort, leaseMs, commandTimeoutMs }) {
    this.#name = name
    this.history = openHistory(file, name)
    this.user = new Redis(directPort)
    this.#redis = new Redis(port)
    this.#locks = await LockClient.connect(this.#redis, {
      clientName: name,
      lockWatchdogTimeout: leaseMs,
      commandTimeout: commandTimeoutMs,
      clock: this.turns.clock,
      bareCalls: 'allow',
    })
    // What was lost is in the history; nobody has to read it on the terminal.
    for (const event of ['lost', 'release-failed', 'renewal-failed']) this.#locks.on(event, () => undefined)
    this.turns.watchConnection(this.#redis)
  }

  /** @returns {Promise<Belief | null>} null when the lock was not to be had within the options */
  async acquire(lock, options) {
    const attempt = `${this.#name}#${(this.#attempts += 1)}`
    this.history.add('acquire-begin', { lock, attempt })
    const isFenced = lock.startsWith(FENCED)
    try {
      const hold = await (isFenced ? this.#locks.getFencedLock(lock) : this.#locks.getLock(lock)).acquire(
        options,
      )
      return new Belief(hold, isFenced, { attempt, history: this.history })
    } catch (error) {
      if (error.code === 'LOCK_TIMEOUT') this.history.add('refused', { lock, attempt })
      else if (error instanceof LockError) this.history.add('failed', { lock, attempt, code: error.code })
      else if (error.name === 'TimeoutError') this.history.add('aborted', { lock, attempt })
      else throw error
      return null
    }
  }

  /** A write to what the lock protects, which looks at nothing but the token. */
  async guardedWrite(belief, more) {
    const { lock, owner, token } = belief
    const sentMs = nowMs()
    const { accepted, highestToken } = await fencedSet(this.user, {
      key: `register:${lock}`,
      token,
      value: owner,
    })
    const isTrusted = belief.hold.trustedForMs > 0
    this.history.add('guarded', { lock, owner, token, sentMs, accepted, highestToken, isTrusted, ...more })
  }

  async close() {
    await this.#locks.close()
    for (const redis of [this.#redis, this.user]) {
      const ended = once(redis, 'end')
      redis.disconnect()
      await ended
    }
    this.history.close()
  }
}

/** What a process believes of one hold, written down whenever it is asked. */
export class Belief {
  hold
  owner
  lock
  token
  /** Trust lasts until then at least, on the clock of the history. */
  untilMs
  isGivenBack = false
  #history

  constructor(hold, isFenced, { attempt, history }) {
    this.hold = hold
    this.lock = hold.lockName
    this.owner = hold.owner
    this.token = isFenced ? hold.token : undefined
    this.#history = history
    const { lock, owner, token } = this
    this.untilMs = nowMs() + hold.trustedForMs
    history.add('acquired', { lock, attempt, owner, token, trustedUntilMs: this.untilMs })
    hold.signal.addEventListener('abort', () =>
      history.add('lost', { lock, owner, reason: hold.signal.reason.reason }),
    )
  }

  /** Whether the hold is trusted now; the time comes first, so that a pause in between makes nobody a liar. */
  look() {
    const atMs = nowMs()
    const leftMs = this.hold.trustedForMs
    if (leftMs > 0) {
      this.untilMs = Math.max(this.untilMs, atMs + leftMs)
      this.#history.add('trusted', { lock: this.lock, owner: this.owner, untilMs: this.untilMs })
    }
    return leftMs > 0
  }

  /** What a careful user does before each write. */
  isEnsured() {
    const atMs = nowMs()
    try {
      this.hold.ensure()
    } catch (error) {
      if (error.code !== 'LOCK_LOST') throw error
      return false
    }
    this.claim(atMs)
    return true
  }

  /** Acts as the owner at that time. */
  claim(atMs) {
    this.look()
    this.#history.add('write', { atMs, lock: this.lock, owner: this.owner, accepted: true })
  }

  /** From now on the hold may be trusted for less: for what Redis says it keeps, counted from here. */
  noteQuestion() {
    this.#history.add('asked', { lock: this.lock, owner: this.owner })
  }

  async giveBack() {
    const { lock, owner } = this
    this.isGivenBack = true
    this.#history.add('release-begin', { lock, owner })
    const outcome = await this.hold.release()
    this.#history.add('released', { lock, owner, outcome })
    return outcome
  }
}
