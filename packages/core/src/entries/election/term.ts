import type { Hold, Runtime } from '../../index.js'
import { tokenKey, showsOnly } from '../door.js'
import type { ElectionRules } from './election-options.js'
import type { ElectionProtocol } from './election-protocol.js'
import { TermEndedError, type TermEnd } from './term-ended-error.js'

/** The parts of a term. */
export interface TermParts {
  readonly hold: Hold
  readonly protocol: ElectionProtocol
  readonly token: string
  /** By the clock of Redis, ms. */
  readonly sinceMs: number
  readonly runtime: Runtime
  readonly rules: Pick<ElectionRules, 'graceMs' | 'lossGraceMs'>
}

/** A term of a leader: the argument of the callback of `lead`. It ends with the callback. */
export class Term {
  private readonly startedAt: number
  private readonly aboutToEnd = new AbortController()
  private readonly over = new AbortController()
  private timer: { cancel(): void } | null = null
  private endsAt = Number.POSITIVE_INFINITY
  private readonly stopListening: () => void

  /** @internal Made by a campaign. */
  constructor(private readonly parts: TermParts) {
    this.startedAt = parts.runtime.now()
    this.stopListening = parts.hold.acquisition.lease.loss.onSet(() => this.lost())
    this.watchTrust()
  }

  /** The name of the election. */
  get name(): string {
    return this.parts.hold.lockName
  }

  /** The fencing token: a decimal number as text, larger than that of every term before. */
  get token(): string {
    return this.parts.token
  }

  /** The key in Redis that counts its tokens. Tokens of one key can be compared. */
  get tokenKey(): string {
    return tokenKey(this.parts.protocol.key)
  }

  /** `<clientId>:<threadId>`, the owner of the lock in Redis. */
  get owner(): string {
    return this.parts.hold.owner
  }

  /** When the term began, by the clock of Redis. */
  get since(): Date {
    return new Date(this.parts.sinceMs)
  }

  /**
   * Aborts before anybody else can lead. Pass it to the code that does the work. The reason is a LockLostError if the term
   * was lost, else a TermEndedError. After a pause of the whole process other code may run first, unless it asks this term:
   * only a check of the token at the resource protects against that.
   */
  get signal(): AbortSignal {
    this.checkTrust()
    return this.over.signal
  }

  /** Aborts when the term is about to end: `graceMs` or `lossGraceMs` before `signal`, and never after it. */
  get ending(): AbortSignal {
    this.checkTrust()
    return this.aboutToEnd.signal
  }

  /** How long, in ms, the caller may act as the leader without asking Redis again; 0 when it may not. */
  get trustedForMs(): number {
    const left = this.parts.hold.trustedForMs
    return this.over.signal.aborted ? 0 : left
  }

  /**
   * Checks locally, without waiting, that more than `ms` of trusted time is left. Default 0.
   * @throws LockLostError less than that is left; TermEndedError `signal` has aborted
   */
  ensure(ms = 0): void {
    this.signal.throwIfAborted()
    this.parts.hold.ensure(ms)
  }

  /**
   * Asks Redis, in one script, whether this leader still has the lock. Call it right before a critical write.
   * @throws LockLostError, TermEndedError, RedisUnavailableError
   */
  async verify(): Promise<void> {
    this.signal.throwIfAborted()
    await this.parts.hold.verify()
    this.signal.throwIfAborted()
  }

  /** @internal How long it has gone on, ms. */
  get lastedMs(): number {
    return this.parts.runtime.now() - this.startedAt
  }

  /** @internal Whether something else than its callback ends it. */
  get isEnding(): boolean {
    return this.aboutToEnd.signal.aborted
  }

  /** @internal The candidate that its release prefers; '': the first in the queue. */
  prefer(clientId: string): void {
    this.parts.protocol.successor = clientId
  }

  /** @internal `ending` aborts now, and `signal` after the grace. The shortest grace of several calls counts. */
  end(reason: TermEnd, graceMs = this.parts.rules.graceMs): void {
    const { runtime, hold } = this.parts
    const error = new TermEndedError(this.name, hold.owner, reason)
    this.aboutToEnd.abort(error)
    const endsAt = runtime.now() + graceMs
    if (graceMs === 0) {
      this.finish(error)
    } else if (endsAt < this.endsAt && !this.over.signal.aborted) {
      this.endsAt = endsAt
      this.timer?.cancel()
      this.timer = runtime.setTimer(graceMs, () => this.finish(error))
    }
  }

  /** @internal The callback has settled: nothing may go on in the name of the term. */
  settled(): void {
    this.stopListening()
    this.end('settled', 0)
  }

  private finish(reason: Error): void {
    this.timer?.cancel()
    this.timer = null
    this.over.abort(reason)
  }

  private lost(): void {
    const { lossError } = this.parts.hold.acquisition.lease
    if (lossError) {
      this.aboutToEnd.abort(lossError)
      this.finish(lossError)
    }
  }

  /** After a pause of the process its trust may be over although no timer has run yet. */
  private checkTrust(): void {
    const { hold, runtime } = this.parts
    if (!hold.isLost && runtime.now() >= this.endsAt && !this.over.signal.aborted) {
      this.finish(this.aboutToEnd.signal.reason as Error)
    }
  }

  /** Renewals succeed long before so little trust is left: they fail. */
  private watchTrust(): void {
    const { runtime, hold, rules } = this.parts
    if (rules.lossGraceMs === 0 || this.aboutToEnd.signal.aborted) {
      return
    }
    const left = hold.trustedForMs
    if (left <= rules.lossGraceMs) {
      this.end('endangered', left)
    } else {
      this.timer = runtime.setTimer(left - rules.lossGraceMs, () => this.watchTrust())
    }
  }
}

showsOnly(Term, ['name', 'token'])
