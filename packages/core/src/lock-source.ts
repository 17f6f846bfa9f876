import type { ForeignRule } from './arguments/foreign-locks.js'
import { checkOneSlot } from './client/one-slot.js'
import type { ClientChannel } from './client/client-channel.js'
import { membersOf, refuseSharedNodes } from './compound/members-argument.js'
import { MultiLock } from './compound/multi-lock.js'
import {
  locksAndOptions,
  RED_LOCK_OPTIONS,
  RedLock,
  type RedLockArguments,
  type RedLockOptions,
} from './compound/red-lock.js'
import type { CallSite } from './context/context.js'
import { keepIdleLocks } from './client/open-session.js'
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
import type { LockServices } from './locks/services.js'
import { NonReentrantFairProtocol, NonReentrantProtocol } from './kinds/non-reentrant.js'
import { READ_WRITE_LOCK_OPTIONS, ReadWriteLock, type ReadWriteLockOptions } from './locks/read-write-lock.js'
import { ReadProtocol, WriteProtocol } from './kinds/read-write.js'
import { PlainProtocol } from './kinds/plain.js'
import { SpinProtocol } from './kinds/spin.js'

/** The client that makes a lock, and the thread that it is bound to; null: the context around each call. */
export interface LockHome {
  readonly session: LockServices
  readonly inbox: ClientChannel
  readonly thread: CallSite | null
}

/** Makes locks, of every kind: a client does, for whoever calls, and a thread, for itself. */
export abstract class LockSource {
  /** @internal */
  protected abstract readonly home: LockHome

  /** Returns a reentrant lock of this name. @throws InvalidArgumentError, ClientClosedError */
  getLock(name: string, options?: PlainLockOptions): Lock {
    const { session } = this.home
    const lingerMs =
      options === undefined ? session.options.lingerMs || undefined : lingerOf(session, options)
    const foreign = this.checkName(name, options)
    if (lingerMs !== undefined) {
      keepIdleLocks(session)
    }
    return this.make(new PlainProtocol(session, name, foreign, lingerMs))
  }

  /**
   * Returns a lock that is granted in order of arrival, across processes (I10). A waiter whose process has died
   * delays the next one by at most two `resyncInterval`s.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getFairLock(name: string, options?: LockOptions): Lock {
    const foreign = this.check(name, options)
    return this.make(new FairProtocol(this.home.session, name, foreign))
  }

  /**
   * Returns a lock for many readers or one writer. Keep the object if calls outside contexts use `unlock()`: the
   * lock object records what they hold.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getReadWriteLock(name: string, options: ReadWriteLockOptions = {}): ReadWriteLock {
    checkOptions('options', options, READ_WRITE_LOCK_OPTIONS)
    const { readersStandBack = true } = options
    checkOneOf('readersStandBack', readersStandBack, [true, false])
    const foreign = this.checkName(name, options)
    const { session } = this.home
    const reader = this.make(new ReadProtocol(session, name, foreign, readersStandBack))
    return new ReadWriteLock(name, reader, this.make(new WriteProtocol(session, name, foreign)))
  }

  /**
   * Returns a lock whose holds carry fencing tokens, for a resource that rejects older ones. Use a name for one
   * kind of lock only: an acquisition through `getLock` gets no token and is not counted.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getFencedLock(name: string, options?: FencedLockOptions): FencedLock {
    const foreign = this.checkName(name, options)
    const { session, thread } = this.home
    return new FencedLock(session, new FencedProtocol(session, name, foreign, tokenRuleOf(options)), thread)
  }

  /**
   * Returns a lock whose waiters retry with a backoff: no channel, no messages. For very many short-lived names.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getSpinLock(name: string, options?: SpinLockOptions): Lock {
    const foreign = this.checkName(name, options)
    return this.make(new SpinProtocol(this.home.session, name, foreign, backoffOf(options)))
  }

  /**
   * Returns a lock that its own holder cannot acquire again: the attempt fails with NotReentrantError.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getNonReentrantLock(name: string, options?: LockOptions): Lock {
    const foreign = this.check(name, options)
    return this.make(new NonReentrantProtocol(this.home.session, name, foreign))
  }

  /**
   * Returns a non-reentrant lock that is granted in order of arrival, like `getFairLock`.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getNonReentrantFairLock(name: string, options?: LockOptions): Lock {
    const foreign = this.check(name, options)
    return this.make(new NonReentrantFairProtocol(this.home.session, name, foreign))
  }

  /**
   * Makes one lock of several locks, which is held when all of them are; they may be of any kind and of several
   * clients. Contexts of this client decide about ownership.
   * @throws InvalidArgumentError no lock, the same one twice, or not a lock; ClientClosedError
   */
  getMultiLock(...locks: Lock[]): MultiLock {
    const { session } = this.home
    const { members, thread } = membersOf(locks, session, this.home.thread)
    const lock = new MultiLock(session, members, thread)
    session.assertOpen(lock.name)
    return lock
  }

  /**
   * Makes one lock of locks on several independent Redis nodes, each of its own client: it is held with a majority
   * of them. Contexts of this client decide about ownership.
   * @throws InvalidArgumentError, ClientClosedError
   */
  getRedLock(...locks: Lock[]): RedLock
  getRedLock(locks: readonly Lock[], options?: RedLockOptions): RedLock
  getRedLock(...args: RedLockArguments): RedLock {
    const [locks, options = {}] = locksAndOptions(args)
    checkOptions('options', options, RED_LOCK_OPTIONS)
    const { nodeTimeoutMs = 200 } = options
    checkDuration('nodeTimeoutMs', nodeTimeoutMs, 'positive')
    const { session } = this.home
    const { members, thread } = membersOf(locks, session, this.home.thread)
    refuseSharedNodes(members)
    const lock = new RedLock(session, members, thread, nodeTimeoutMs)
    session.assertOpen(lock.name)
    return lock
  }

  /** For a kind without options of its own. @throws InvalidArgumentError, ClientClosedError */
  private check(name: string, options: LockOptions | undefined): ForeignRule {
    checkLockOptions(options)
    return this.checkName(name, options)
  }

  /** @throws InvalidArgumentError, ClientClosedError */
  private checkName(name: string, options: LockOptions | undefined): ForeignRule {
    const { session, inbox } = this.home
    checkName(name)
    if (session.port.slotOf) {
      checkOneSlot(session, name)
    }
    session.assertOpen(name)
    void inbox.open()
    return options ? foreignRuleIn(session, options) : session.options.foreignLocks
  }

  private make(protocol: LockProtocol): Lock {
    return new Lock(this.home.session, protocol, this.home.thread)
  }
}
