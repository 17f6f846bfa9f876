import type { LockKind } from '../diagnostics/messages.js'
import { RedisUnavailableError } from '../errors.js'
import type { GivenLock } from '../queue/given-locks.js'
import { fairQueue, NOT_IN_LINE } from '../queue/fair-queue.js'
import type { PassedHold } from '../entry/handover.js'
import { readWith, type Reading } from '../runtime/reading.js'
import { acquire, type FairAcquireReply } from '../scripts/fair-lock/acquire.js'
import { forceRelease } from '../scripts/fair-lock/force-release.js'
import { fairLine, type FairLine } from '../scripts/fair-lock/line.js'
import { release } from '../scripts/fair-lock/release.js'
import { withdraw } from '../scripts/fair-lock/withdraw.js'
import { rename } from '../scripts/fair-lock/rename.js'
import type { ReleaseReply } from '../scripts/lock/release.js'
import type { RenameReply, Renaming } from '../scripts/lock/rename.js'
import type { Session } from '../client/session.js'
import { HashProtocol } from './hash-protocol.js'
import type { HoldChange, Wish } from '../entry/count-change.js'
import type { LocalLine, Standing } from './lock-protocol.js'
import type { LocalPassing } from '../entry/handover.js'

const DOES_NOT_WAIT = '-1'

/**
 * Redisson's RFairLock: its hash, its list of waiters and their times. What must be trusted is kept beside them in
 * Redis's time: who of our waiters came when, and which of our clients live.
 */
export class FairProtocol extends HashProtocol implements LocalPassing, GivenLock {
  readonly kind: LockKind = 'fair'
  readonly localQueue = null
  private readonly line: FairLine

  constructor(session: Session, lockName: string) {
    super(session, lockName)
    this.line = fairLine(lockName, this.key, session.options.fairLockWaitTimeout)
  }

  lineOf({ owner }: Standing): LocalLine {
    return { queue: fairQueue(owner), ticks: false }
  }

  get isAwaited(): boolean {
    return this.session.fairWaiters.countAt(this.key) > 0
  }

  acquire<T>(change: HoldChange, wish: Wish, reading: Reading<FairAcquireReply, T>): Promise<T> {
    return readWith(this.take(change, wish), reading)
  }

  private async take(
    { owner, holds, stamp }: HoldChange,
    { leaseMs, waits, note }: Wish,
  ): Promise<FairAcquireReply> {
    const { line, session } = this
    const { fairWaiters: waiters } = session
    const arrival = waits ? waiters.enter(line, owner).arrival : DOES_NOT_WAIT
    const { alive } = waiters
    const latchKey = this.latchKey(owner)
    const change = { line, latchKey, owner, holds, leaseMs, stamp, alive, arrival, note }
    let sentAt = 0
    const send = (): Promise<FairAcquireReply> => {
      sentAt = session.clock.now()
      return acquire(session.runner, change)
    }
    const returns = arrival === NOT_IN_LINE ? waiters.returns : null
    const answer = returns ? returns.enter(this.key, waiters.countAt(this.key), send) : send()
    const reply = await answer.catch((error: unknown) => {
      this.forgetUnsent(owner, arrival, error)
      throw error
    })
    if (reply.kind === 'held') {
      waiters.stands(owner, reply, sentAt)
    } else if (waits) {
      waiters.leave(owner)
    }
    return reply
  }

  /** Certainly not in line: no release will come that takes it out again. */
  private forgetUnsent(owner: string, arrival: string, error: unknown): void {
    const isUnknown = error instanceof RedisUnavailableError && error.outcome === 'unknown'
    if (!isUnknown && arrival === NOT_IN_LINE) {
      this.session.fairWaiters.leave(owner)
    }
  }

  override get passing(): LocalPassing | null {
    return this.session.fairWaiters.returns ? this : null
  }

  /** Past those who have left; never past one that asks Redis at the moment. */
  offer(passed: PassedHold, behind: string[]): boolean {
    const { grants, fairWaiters } = this.session
    let isTaken: boolean | undefined
    while (isTaken === undefined && behind[0] !== undefined) {
      isTaken = grants.offer(behind[0], passed)
      if (isTaken !== false) {
        behind.shift()
      }
    }
    if (isTaken === true) {
      fairWaiters.returns?.passedOn(this.key, passed.passedAt)
    }
    return isTaken === true
  }

  rename(renaming: Renaming): Promise<RenameReply> {
    return rename(this.session.runner, { line: this.line, ...renaming })
  }

  release<T>({ owner, holds, stamp, passedTo }: HoldChange, reading: Reading<ReleaseReply, T>): Promise<T> {
    const { line, session, isNoted } = this
    const { fairWaiters, runner } = session
    if (holds === 0) {
      fairWaiters.leave(owner)
    }
    const command = { line, latchKey: this.latchKey(owner), owner, holds, stamp, passedTo, isNoted }
    const send = (): Promise<ReleaseReply> => release(runner, command)
    const returns = holds === 0 ? fairWaiters.returns : null
    const answer = returns ? returns.release(this.key, fairWaiters.countAt(this.key), send) : send()
    return readWith(answer, reading)
  }

  wentToAnother(forMs: number | undefined): void {
    const { givenLocks, fairWaiters } = this.session
    givenLocks.watch(this, forMs ?? fairWaiters.alive.aliveForMs)
  }

  lookAgain(): Promise<number> {
    return withdraw(this.session.runner, { line: this.line, owner: '' })
  }

  async forceRelease(): Promise<boolean> {
    const isReleased = (await forceRelease(this.session.runner, this.line)).kind === 'released'
    if (isReleased) {
      this.wentToAnother(undefined)
    }
    return isReleased
  }
}
