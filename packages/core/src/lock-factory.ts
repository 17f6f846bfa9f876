import type { ClientChannel } from './client/client-channel.js'
import { membersOf, refuseSharedNodes } from './compound/members-argument.js'
import { MultiLock } from './compound/multi-lock.js'
import { locksAndOptions, RED_LOCK_OPTIONS, RedLock, type RedLockArguments } from './compound/red-lock.js'
import type { CallSite } from './context.js'
import type { Session } from './client/session.js'
import { checkDuration, checkName, checkOneOf, checkOptions } from './arguments/validate.js'
import { backoffOf, type SpinLockOptions } from './protocols/backoff.js'
import { FairProtocol } from './protocols/fair.js'
import { FencedLock } from './locks/fenced-lock.js'
import { tokenRuleOf, type FencedLockOptions } from './protocols/fenced-options.js'
import { FencedProtocol } from './protocols/fenced.js'
import type { LockProtocol } from './protocols/lock-protocol.js'
import { Lock } from './locks/lock.js'
import { NonReentrantFairProtocol, NonReentrantProtocol } from './protocols/non-reentrant.js'
import { READ_WRITE_LOCK_OPTIONS, ReadWriteLock, type ReadWriteLockOptions } from './locks/read-write-lock.js'
import { ReadProtocol, WriteProtocol } from './protocols/read-write.js'
import { ReentrantProtocol } from './protocols/reentrant.js'
import { SpinProtocol } from './protocols/spin.js'

/**
 * Makes the locks of one client, of every kind. `thread`: the logical thread a lock is bound to; null: the caller's
 * context.
 */
export class LockFactory {
  constructor(
    private readonly session: Session,
    private readonly inbox: ClientChannel,
  ) {}

  lock(name: string, thread: CallSite | null): Lock {
    this.check(name)
    return this.make(new ReentrantProtocol(this.session, name), thread)
  }

  fairLock(name: string, thread: CallSite | null): Lock {
    this.check(name)
    return this.make(new FairProtocol(this.session, name), thread)
  }

  readWriteLock(name: string, options: ReadWriteLockOptions, thread: CallSite | null): ReadWriteLock {
    checkOptions('options', options, READ_WRITE_LOCK_OPTIONS)
    const { readersStandBack = true } = options
    checkOneOf('readersStandBack', readersStandBack, [true, false])
    this.check(name)
    return new ReadWriteLock(
      name,
      this.make(new ReadProtocol(this.session, name, readersStandBack), thread),
      this.make(new WriteProtocol(this.session, name), thread),
    )
  }

  fencedLock(name: string, options: FencedLockOptions | undefined, thread: CallSite | null): FencedLock {
    this.check(name)
    const protocol = new FencedProtocol(this.session, name, tokenRuleOf(options))
    return new FencedLock(this.session, protocol, thread)
  }

  spinLock(name: string, options: SpinLockOptions | undefined, thread: CallSite | null): Lock {
    this.check(name)
    return this.make(new SpinProtocol(this.session, name, backoffOf(options)), thread)
  }

  nonReentrantLock(name: string, thread: CallSite | null): Lock {
    this.check(name)
    return this.make(new NonReentrantProtocol(this.session, name), thread)
  }

  nonReentrantFairLock(name: string, thread: CallSite | null): Lock {
    this.check(name)
    return this.make(new NonReentrantFairProtocol(this.session, name), thread)
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

  /** @throws InvalidArgumentError, ClientClosedError */
  private check(name: string): void {
    checkName(name)
    this.session.assertOpen(name)
    void this.inbox.open()
  }

  private make(protocol: LockProtocol, thread: CallSite | null): Lock {
    return new Lock(this.session, protocol, thread)
  }
}
