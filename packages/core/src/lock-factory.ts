import type { ForeignRule } from './arguments/foreign-locks.js'
import { checkOneSlot } from './client/one-slot.js'
import type { ClientChannel } from './client/client-channel.js'
import { membersOf, refuseSharedNodes } from './compound/members-argument.js'
import { MultiLock } from './compound/multi-lock.js'
import { locksAndOptions, RED_LOCK_OPTIONS, RedLock, type RedLockArguments } from './compound/red-lock.js'
import type { CallSite } from './context/context.js'
import type { Session } from './client/session.js'
import { checkDuration, checkName, checkOneOf, checkOptions } from './arguments/validate.js'
import { backoffOf, type SpinLockOptions } from './kinds/backoff.js'
import { FairProtocol } from './kinds/fair.js'
import { FencedLock } from './locks/fenced-lock.js'
import { tokenRuleOf, type FencedLockOptions } from './kinds/fenced-options.js'
import { FencedProtocol } from './kinds/fenced.js'
import {
  checkLockOptions,
  foreignRuleIn,
  lingerOf,
  type LockOptions,
  type PlainLockOptions,
} from './kinds/lock-options.js'
import type { LockProtocol } from './kinds/lock-protocol.js'
import { Lock } from './locks/lock.js'
import { NonReentrantFairProtocol, NonReentrantProtocol } from './kinds/non-reentrant.js'
import { READ_WRITE_LOCK_OPTIONS, ReadWriteLock, type ReadWriteLockOptions } from './locks/read-write-lock.js'
import { ReadProtocol, WriteProtocol } from './kinds/read-write.js'
import { keepIdleLocks } from './client/idle-locks.js'
import { PlainProtocol } from './kinds/plain.js'
import { SpinProtocol } from './kinds/spin.js'

/**
 * Makes the locks of one client, of every kind. `thread`: the logical thread a lock is bound to; null: the caller's
 * context.
 */
export class LockFactory {
  constructor(
    private readonly session: Session,
    private readonly inbox: ClientChannel,
  ) {}

  lock(name: string, options: PlainLockOptions | undefined, thread: CallSite | null): Lock {
    const lingerMs = lingerOf(this.session, options)
    const foreign = this.checkName(name, options)
    if (lingerMs !== undefined) {
      keepIdleLocks(this.session)
    }
    return this.make(new PlainProtocol(this.session, name, foreign, lingerMs), thread)
  }

  fairLock(name: string, options: LockOptions | undefined, thread: CallSite | null): Lock {
    const foreign = this.check(name, options)
    return this.make(new FairProtocol(this.session, name, foreign), thread)
  }

  readWriteLock(name: string, options: ReadWriteLockOptions, thread: CallSite | null): ReadWriteLock {
    checkOptions('options', options, READ_WRITE_LOCK_OPTIONS)
    const { readersStandBack = true } = options
    checkOneOf('readersStandBack', readersStandBack, [true, false])
    const foreign = this.checkName(name, options)
    return new ReadWriteLock(
      name,
      this.make(new ReadProtocol(this.session, name, foreign, readersStandBack), thread),
      this.make(new WriteProtocol(this.session, name, foreign), thread),
    )
  }

  fencedLock(name: string, options: FencedLockOptions | undefined, thread: CallSite | null): FencedLock {
    const foreign = this.checkName(name, options)
    const protocol = new FencedProtocol(this.session, name, foreign, tokenRuleOf(options))
    return new FencedLock(this.session, protocol, thread)
  }

  spinLock(name: string, options: SpinLockOptions | undefined, thread: CallSite | null): Lock {
    const foreign = this.checkName(name, options)
    return this.make(new SpinProtocol(this.session, name, foreign, backoffOf(options)), thread)
  }

  nonReentrantLock(name: string, options: LockOptions | undefined, thread: CallSite | null): Lock {
    const foreign = this.check(name, options)
    return this.make(new NonReentrantProtocol(this.session, name, foreign), thread)
  }

  nonReentrantFairLock(name: string, options: LockOptions | undefined, thread: CallSite | null): Lock {
    const foreign = this.check(name, options)
    return this.make(new NonReentrantFairProtocol(this.session, name, foreign), thread)
  }

  /** @throws InvalidArgumentError, ClientClosedError */
  multiLock(locks: readonly Lock[], thread: CallSite | null): MultiLock {
    const { members, thread: bound } = membersOf(locks, this.session, thread)
    const lock = new MultiLock(this.session, members, bound)
    this.session.assertOpen(lock.name)
    return lock
  }

  /** @throws InvalidArgumentError, ClientClosedError */
  redLock(args: RedLockArguments, thread: CallSite | null): RedLock {
    const [locks, options = {}] = locksAndOptions(args)
    checkOptions('options', options, RED_LOCK_OPTIONS)
    const { nodeTimeoutMs = 200 } = options
    checkDuration('nodeTimeoutMs', nodeTimeoutMs, 'positive')
    const { members, thread: bound } = membersOf(locks, this.session, thread)
    refuseSharedNodes(members)
    const lock = new RedLock(this.session, members, bound, nodeTimeoutMs)
    this.session.assertOpen(lock.name)
    return lock
  }

  /** For a kind without options of its own. @throws InvalidArgumentError, ClientClosedError */
  private check(name: string, options: LockOptions | undefined): ForeignRule {
    checkLockOptions(options)
    return this.checkName(name, options)
  }

  /** @throws InvalidArgumentError, ClientClosedError */
  private checkName(name: string, options: LockOptions | undefined): ForeignRule {
    checkName(name)
    checkOneSlot(this.session, name)
    this.session.assertOpen(name)
    void this.inbox.open()
    return foreignRuleIn(this.session, options)
  }

  private make(protocol: LockProtocol, thread: CallSite | null): Lock {
    return new Lock(this.session, protocol, thread)
  }
}
