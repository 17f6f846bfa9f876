import {
  detached,
  LockLostError,
  RedisUnavailableError,
  type Hold,
  type ReleaseOutcome,
  type LockClient,
} from '../../index.js'
import {
  refuseLazy,
  type LockServices,
  type Context,
  electionChannel,
  Lock,
  type LockProtocol,
  pause,
  untilKnown,
  jittered,
} from '../door.js'
import { Doorbell } from './doorbell.js'
import type { ElectionRules } from './election-options.js'
import { ElectionProtocol } from './election-protocol.js'
import { listen } from './listening.js'
import { accept, begin, messageIn, type BeginArguments, type BeginReply } from './scripts.js'
import { Term } from './term.js'

/** The work of a leader in its term. */
export type TermWork = (term: Term) => unknown

export interface CampaignParts {
  readonly locks: LockClient
  readonly session: LockServices
  /** The fair lock of the election's name. */
  readonly lock: LockProtocol
  readonly rules: ElectionRules
  readonly work: TermWork
  /** Ends the campaign. */
  readonly stop: AbortSignal
}

const FIRST_PAUSE_MS = 1_000
// A leader looks whether Redis still has its term, and keeps it there.
const LONGEST_UNSEEN_MS = 3_600_000

/** A candidate: it stands in the queue, leads, and stands in the queue again, until it is stopped. */
export class Campaign {
  /** Rings when a term begins or ends, and when a candidate has answered. */
  readonly bell: Doorbell
  /** The term that goes on. */
  term: Term | null = null
  /** The logical thread of the term's callback. */
  context: Context | null = null
  /** Resolves when the lock of the term was released, or the release goes on in the background. */
  over: Promise<void> = Promise.resolve()
  private failures = 0
  private isListening = false
  private readonly channel: string

  constructor(private readonly parts: CampaignParts) {
    this.bell = new Doorbell(parts.session.runtime)
    this.channel = electionChannel(parts.lock.key)
  }

  /** Resolves when it is stopped. @throws what no later try would change: WrongTypeError, InvalidArgumentError */
  async run(): Promise<void> {
    const { locks, stop, session, rules } = this.parts
    const over = new AbortController()
    const ended = AbortSignal.any([stop, over.signal])
    try {
      while (!stop.aborted) {
        this.listen(ended)
        try {
          // Detached: a term is a logical thread of its own, whatever called `lead`.
          await detached(() => locks.fork(() => this.standAndLead()))
        } catch (error) {
          this.survive(error)
        }
        if (this.failures > 0) {
          const full = Math.min(rules.leaseMs, FIRST_PAUSE_MS * 2 ** (this.failures - 1))
          const least = Math.min(rules.leaseMs, FIRST_PAUSE_MS)
          const { runtime } = session
          await pause(Math.max(least, jittered(full, runtime.random())), runtime, stop)
        }
      }
    } finally {
      over.abort()
    }
  }

  /** A request that Redis refuses for good is repeated by each candidature. */
  private listen(ended: AbortSignal): void {
    if (!this.isListening) {
      this.isListening = true
      listen(this.parts.session, this.channel, this.hear, ended).catch(() => (this.isListening = false))
    }
  }

  /** @throws what no later try would change */
  private survive(error: unknown): void {
    const { stop, rules } = this.parts
    if (stop.aborted) {
      return
    }
    if (!(error instanceof RedisUnavailableError || error instanceof LockLostError)) {
      throw error
    }
    this.failures += 1
    rules.report(error)
  }

  private async standAndLead(): Promise<void> {
    const { session, lock, rules, stop } = this.parts
    const protocol = new ElectionProtocol(session, lock.lockName, lock.foreignLocks)
    const candidature = {
      waitMs: Number.POSITIVE_INFINITY,
      leaseMs: rules.leaseMs,
      renew: true,
      signal: stop,
    }
    const hold = await new Lock(session, protocol, null).acquire(candidature)
    const over = this.lead(hold, protocol).finally(() => {
      this.term = null
      this.context = null
      // The lock is free when its lease ends at the latest; 'release-failed' reports it.
      return session.releaseWaits.leave<ReleaseOutcome>(hold).catch(() => undefined)
    })
    this.over = over.then(
      () => undefined,
      () => undefined,
    )
    await over
  }

  private async lead(hold: Hold, protocol: ElectionProtocol): Promise<void> {
    const { session, rules, stop } = this.parts
    const begun = await this.begin(hold)
    if (begun.kind === 'lost') {
      throw new LockLostError({ lockName: hold.lockName, owner: hold.owner, reason: 'gone' })
    }
    if (hold.trustedForMs <= rules.lossGraceMs) {
      // The lock may have been granted: the lease that is wanted is not confirmed yet.
      await hold.extend(rules.leaseMs)
    }
    hold.ensure()
    const { token, sinceMs } = begun
    const term = new Term({ hold, protocol, token, sinceMs, runtime: session.runtime, rules })
    const stopped = (): void => term.end('stopped')
    stop.addEventListener('abort', stopped, { once: true })
    const keeper = this.keep(hold, { token, sinceMs })
    this.term = term
    this.context = session.contexts.current?.context ?? null
    try {
      if (stop.aborted) {
        return
      }
      await this.through(term)
    } finally {
      stop.removeEventListener('abort', stopped)
      keeper.cancel()
      term.settled()
    }
  }

  private async through(term: Term): Promise<void> {
    const { work, rules } = this.parts
    let failure: { readonly error: unknown } | null = null
    let result: unknown = undefined
    try {
      result = await work(term)
    } catch (error) {
      failure = { error }
    }
    // Ends the campaign: each term of this callback would end at once.
    refuseLazy('work', result)
    if (term.isEnding) {
      // The error of the callback is then most likely that it was told to end.
      this.failures = 0
      return
    }
    this.failures = term.lastedMs < rules.leaseMs ? this.failures + 1 : 0
    if (failure) {
      rules.report(failure.error)
    }
  }

  /** Sent again until it is answered, or the lock is lost. */
  private begin(hold: Hold): Promise<BeginReply> {
    const { runtime, runner, closing } = this.parts.session
    const given = this.termOf(hold, undefined)
    const until = { runtime, closing, abandoned: hold.signal }
    return untilKnown(() => begin(runner, given), until, Number.POSITIVE_INFINITY)
  }

  /** Redis may lose the term alone, by eviction or DEL: the leader writes it again. */
  private keep(hold: Hold, known: { token: string; sinceMs: number }): { cancel(): void } {
    const { session, rules } = this.parts
    const given = this.termOf(hold, known)
    const everyMs = Math.min(rules.leaseMs / 3, LONGEST_UNSEEN_MS)
    const write = async (): Promise<void> => {
      const reply = await begin(session.runner, given)
      if (reply.kind === 'lost') {
        await hold.verify()
      }
    }
    const again = (): { cancel(): void } =>
      session.runtime.setTimer(everyMs, () => {
        // Its failure is that of a renewal at the same time, which is reported.
        write().catch(() => undefined)
        timer = again()
      })
    let timer = again()
    return { cancel: () => timer.cancel() }
  }

  private termOf({ owner }: Hold, known: BeginArguments['known']): BeginArguments {
    const { lockName, key } = this.parts.lock
    const { data, tokens } = this.parts.rules
    return { lockName, key, owner, data, known, tokens }
  }

  private readonly hear = (payload: string): void => {
    const message = messageIn(payload)
    if (message?.kind === 'news') {
      this.bell.ring()
    }
    const { session, lock } = this.parts
    const { clientId, runner, background } = session
    if (message?.kind === 'ask' && message.candidate === clientId && !this.term) {
      const { lockName, key } = lock
      const { token, question } = message
      // Without an answer the leader asks again.
      background.run(accept(runner, { lockName, key, clientId, token, question }).catch(() => undefined))
    }
  }
}
