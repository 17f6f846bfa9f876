import type { Busy, Held, WholeCall } from '../acquire/acquire-call.js'
import type { AcquireOptions } from '../acquire/acquire-options.js'
import type { Acquisition } from '../acquire/acquisition.js'
import { obtain } from '../acquire/obtain.js'
import type { CallSite, SiblingMutex } from '../context/context.js'
import { siteToAcquire, siteToRelease } from '../context/ambient.js'
import { InvalidArgumentError, SelfDeadlockError, type LockTimeoutError } from '../errors.js'
import type { FieldNames, Hold } from '../hold.js'
import type { Lock } from '../locks/lock.js'
import type { LockProtocol } from '../kinds/lock-protocol.js'
import { enclosingAcquisition, releaseSiblingMutex } from '../acquire/reentry.js'
import type { LockServices } from '../locks/services.js'
import { linkedSite, standsFor } from './linked-context.js'

/** A level of one member, and the mutex to release with it. */
export interface MemberHold {
  readonly member: Member
  readonly hold: Hold
  readonly acquisition: Acquisition
  readonly siblingMutex: SiblingMutex | null
}

/** The result of one member. */
export type MemberAnswer =
  | { readonly kind: 'held'; readonly member: Member; readonly held: MemberHold }
  | { readonly kind: 'busy'; readonly member: Member; readonly error: LockTimeoutError }
  | Failed

interface Failed {
  readonly kind: 'failed'
  readonly member: Member
  readonly error: unknown
}

/** The part of a call for several locks that each member needs. */
export interface MemberRequest {
  /** The call site in the home client; null outside any context. */
  readonly origin: CallSite | null
  /** The call comes from `withLock`. */
  readonly ofCallback: boolean
  readonly whole: WholeCall
}

/** One lock of a compound lock. */
export class Member {
  readonly session: LockServices
  readonly protocol: LockProtocol

  constructor(
    readonly lock: Lock,
    /** The client that made the compound lock: its contexts decide about ownership. */
    private readonly home: LockServices,
  ) {
    this.session = lock.session
    this.protocol = lock.protocol
  }

  get lockName(): string {
    return this.protocol.lockName
  }

  /** The call site for this member, for a call at `origin` in the home client. */
  siteFrom(origin: CallSite | null): CallSite | null {
    const { session, home } = this
    if (this.lock.thread) {
      return siteToAcquire(session.contexts, this.lock.thread)
    }
    return origin && (session === home ? origin : linkedSite(session, home, origin.context))
  }

  /** The level held at `origin`, as far as this process knows. */
  heldFrom(origin: CallSite | null): MemberHold | undefined {
    const { session, lock, protocol } = this
    const site = lock.thread ? siteToRelease(session.contexts, lock.thread) : this.siteFrom(origin)
    const acquisition = site ? enclosingAcquisition(site, protocol.scope)?.acquisition : undefined
    const hold = acquisition?.latestLevel
    return acquisition && hold && { member: this, hold, acquisition, siblingMutex: null }
  }

  /** Why an unlimited wait for this member would never end; null: it may end. */
  selfDeadlock(origin: CallSite | null): SelfDeadlockError | null {
    const site = this.siteFrom(origin)
    try {
      if (site) {
        this.protocol.reentryRule(site, true)
      }
      return null
    } catch (error) {
      if (error instanceof SelfDeadlockError) {
        // A lock the caller already holds is re-entered, not waited for.
        return this.heldFrom(origin) ? null : error
      }
      throw error
    }
  }

  /** The fields of what the home client's thread with this id holds. */
  fieldsOfThread(threadId: number): FieldNames[] {
    const { session, home } = this
    return session.held
      .ofScope(this.protocol.scope)
      .filter(({ thread }) =>
        session === home ? thread?.id === threadId : standsFor(thread, home, threadId),
      )
      .map(({ field }) => field)
  }

  /** Acquires a level, or finds out why not. Never rejects. */
  async take(options: AcquireOptions, { origin, ofCallback, whole }: MemberRequest): Promise<MemberAnswer> {
    const site = this.siteFrom(origin)
    const request = {
      options,
      defaultWaitMs: undefined,
      site,
      ofCallback,
      unscoped: null,
      byHand: null,
      whole,
    }
    try {
      return await obtain(this.session, this.protocol, request, (obtained) => this.read(obtained))
    } catch (error) {
      return { kind: 'failed', member: this, error }
    }
  }

  private read(obtained: Held | Busy): MemberAnswer {
    if (obtained.kind === 'busy') {
      return { kind: 'busy', member: this, error: obtained.error() }
    }
    const { hold, acquisition, siblingMutex } = obtained
    return { kind: 'held', member: this, held: { member: this, hold, acquisition, siblingMutex } }
  }
}

/** Sends everything that `send` sends for the members as one script per client, up to the maximum batch size. */
export function together<T>(members: readonly Member[], send: () => T): T {
  members.forEach(({ session }) => session.runner.keepTogether())
  return send()
}

/**
 * Releases levels that no caller gets, in this turn; releases that Redis does not accept at once continue in the
 * background.
 * @param onWork is called with the work in progress for each
 */
export function undoLateHold(
  levels: readonly MemberHold[],
  onWork: (work: Promise<unknown>, member: Member) => void,
): void {
  const members = levels.map(({ member }) => member)
  together(members, () => {
    for (const { member, hold, siblingMutex } of levels) {
      const work = hold.release()
      member.session.background.run(work)
      onWork(work, member)
      releaseSiblingMutex(member.session, siblingMutex)
    }
  })
}

/** The lease of a quick member may have expired while a slow one was waited for. */
export function lostMeanwhile({ member, hold }: MemberHold): Failed | undefined {
  const error = hold.lossError
  return error ? { kind: 'failed', member, error } : undefined
}

export function levelsIn(answers: readonly MemberAnswer[]): MemberHold[] {
  return answers.flatMap((answer) => (answer.kind === 'held' ? [answer.held] : []))
}

export function inOrderOf(members: readonly Member[], levels: readonly MemberHold[]): MemberHold[] {
  return members.flatMap((member) => levels.filter((level) => level.member === member))
}

/** Two clients on one Redis, with the same lock: one would refuse the other for ever. @throws InvalidArgumentError */
export function refuseTwins(answers: readonly MemberAnswer[]): void {
  const owners = new Set(levelsIn(answers).map(({ acquisition }) => acquisition.owner))
  for (const answer of answers) {
    const holder = answer.kind === 'busy' ? answer.error.holder : undefined
    if (holder && owners.has(holder.owner)) {
      const rule = 'locks that differ in Redis: two of them are the same lock'
      throw new InvalidArgumentError('locks', answer.member.lockName, rule)
    }
  }
}
