import type { ForeignRule } from '../arguments/foreign-locks.js'
import type { LockKind } from '../diagnostics/messages.js'
import { RedisUnavailableError } from '../errors.js'
import type { GrantedLock } from '../pass/granted-locks.js'
import { fairQueue, NOT_IN_LINE } from './fair-queue.js'
import type { PassedHold } from '../pass/local-pass.js'
import { handleReply, type ReplyHandler } from '../runtime/reply-handler.js'
import {
  acquire,
  forceRelease,
  fairLine,
  release,
  withdraw,
  rename,
  type FairAcquireReply,
  type FairLine,
} from '../scripts/fair-lock.js'
import type { ForceReleaseReply, NamedOwners, ReleaseReply, RenameReply, Renaming } from '../scripts/lock.js'
import type { KindServices } from './services.js'
import { HashProtocol } from './hash-protocol.js'
import type { HoldChange, AcquireTerms } from '../entry/entry-commands.js'
import type { CallerLine, QueueCandidate } from './lock-protocol.js'
import type { LocalPassing } from '../pass/local-pass.js'

const DOES_NOT_WAIT = '-1'

/**
 * Redisson's RFairLock: its hash, its queue of waiters and their time-outs. Beside them Redis keeps, in its own time,
 * the state that must be trusted: the arrival order of Holdfast's waiters and the liveness of their clients.
 */
export class FairProtocol extends HashProtocol implements LocalPassing, GrantedLock {
  readonly kind: LockKind = 'fair'
  readonly localQueue = null
  override readonly passing: LocalPassing | null = this.session.fairQueue.rejoins && this
  readonly standsBehindForeign = true
  readonly boundsLine = true
  private readonly line: FairLine

  constructor(session: KindServices, lockName: string, foreignLocks: ForeignRule) {
    super(session, lockName, foreignLocks)
    this.line = fairLine(this, session.options.fairLockWaitTimeout, foreignLocks !== 'error')
  }

  lineOf({ owner }: QueueCandidate): CallerLine {
    return { queue: fairQueue(owner), ticks: false }
  }

  get isAwaited(): boolean {
    return this.session.fairQueue.countAt(this.key) > 0
  }

  acquire<T>(
    change: HoldChange,
    terms: AcquireTerms,
    handler: ReplyHandler<FairAcquireReply, T>,
  ): Promise<T> {
    return handleReply(this.take(change, terms), handler)
  }

  private async take(
    change: HoldChange,
    { leaseMs, waits, note, maxWaiting }: AcquireTerms,
  ): Promise<FairAcquireReply> {
    const { line, session } = this
    const { owner } = change
    const { fairQueue } = session
    const arrival = waits ? fairQueue.enter(line, owner).arrival : DOES_NOT_WAIT
    const { alive } = fairQueue
    // Whoever stands in the queue already, or has stood there, keeps its place.
    const most = arrival === NOT_IN_LINE ? maxWaiting : undefined
    const terms = { line, leaseMs, alive, arrival, note, maxWaiting: most }
    const given = { ...this.argumentsOf(change), ...terms }
    let sentAt = 0
    const send = (): Promise<FairAcquireReply> => {
      sentAt = session.runtime.now()
      return acquire(session.runner, given)
    }
    const rejoins = arrival === NOT_IN_LINE ? fairQueue.rejoins : null
    const answer = rejoins ? rejoins.enter(this.key, fairQueue.countAt(this.key), send) : send()
    const reply = await answer.catch((error: unknown) => {
      this.forgetUnsent(owner, arrival, error)
      throw error
    })
    if (reply.kind === 'held' && !reply.full) {
      fairQueue.stands(owner, reply, sentAt)
    } else if (waits) {
      fairQueue.leave(owner)
    }
    return reply
  }

  /** The try was certainly not sent, so the waiter is not in the queue and no release needs to remove it. */
  private forgetUnsent(owner: string, arrival: string, error: unknown): void {
    const isUnknown = error instanceof RedisUnavailableError && error.outcome === 'unknown'
    if (!isUnknown && arrival === NOT_IN_LINE) {
      this.session.fairQueue.leave(owner)
    }
  }

  /** Skips waiters that have left; stops at one whose own try is on its way to Redis. */
  offer(passed: PassedHold, behind: string[]): boolean {
    const { grantReceiver, fairQueue } = this.session
    let isTaken: boolean | undefined
    while (isTaken === undefined && behind[0] !== undefined) {
      isTaken = grantReceiver.offer(behind[0], passed)
      if (isTaken !== false) {
        behind.shift()
      }
    }
    if (isTaken === true) {
      fairQueue.rejoins?.passedOn(this.key, passed.passedAt)
    }
    return isTaken === true
  }

  rename(renaming: Renaming): Promise<RenameReply> {
    return rename(this.session.runner, { line: this.line, ...renaming })
  }

  release<T>(change: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T> {
    const { line, session, isNoted } = this
    const { owner, holds, passedTo } = change
    const { fairQueue, runner } = session
    if (holds === 0) {
      fairQueue.leave(owner)
    }
    const given = { ...this.argumentsOf(change), line, passedTo, isNoted }
    const send = (): Promise<ReleaseReply> => release(runner, given)
    const rejoins = holds === 0 ? fairQueue.rejoins : null
    const answer = rejoins ? rejoins.release(this.key, fairQueue.countAt(this.key), send) : send()
    return handleReply(answer, handler)
  }

  onGrantedElsewhere(forMs: number | undefined): void {
    const { grantedLocks, fairQueue } = this.session
    grantedLocks.watch(this, forMs ?? fairQueue.alive.aliveForMs)
  }

  lookAgain(): Promise<number> {
    return withdraw(this.session.runner, { line: this.line, owner: '' })
  }

  protected async forceReleaseHash(named: NamedOwners): Promise<ForceReleaseReply> {
    const reply = await forceRelease(this.session.runner, this.line, named)
    if (reply.kind === 'released') {
      this.onGrantedElsewhere(undefined)
    }
    return reply
  }
}
