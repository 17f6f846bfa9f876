import type { LockKind } from '../diagnostics/messages.js'
import { INBOX_PREFIX, unlockChannel } from '../keys.js'
import { acquire, type AcquireReply } from '../scripts/lock/acquire.js'
import { forceRelease } from '../scripts/lock/force-release.js'
import { rename, type RenameReply, type Successor } from '../scripts/lock/rename.js'
import { release, type ReleaseReply } from '../scripts/lock/release.js'
import type { Session } from '../session.js'
import { HashProtocol } from './hash-protocol.js'
import type { HoldChange, LocalLine, LocalPassing, Wish } from './lock-protocol.js'

/** Redisson's RLock: one hash, `owner -> holds`, and a message on the unlock channel. */
export class ReentrantProtocol extends HashProtocol implements LocalPassing {
  readonly kind: LockKind = 'reentrant'
  /** Where releases are announced; null: nowhere. */
  private readonly channel: string | null
  private readonly line: LocalLine
  override readonly reentersLocally: boolean
  private readonly passesOn: boolean

  constructor(session: Session, lockName: string, isAnnounced = true) {
    super(session, lockName)
    const topic = unlockChannel(this.key)
    this.channel = isAnnounced ? topic : null
    this.line = { queue: this.key, topic }
    const { localPassing, localReentry, replicas } = session.options
    // What only the primary has would be a loss after a fail-over: where replicas count, Redis is asked.
    this.passesOn = isAnnounced && localPassing && !replicas
    this.reentersLocally = localReentry && !replicas
  }

  /** One line for all callers of this client: a release lets one of them in. */
  lineOf(): LocalLine {
    return this.line
  }

  get isAwaited(): boolean {
    return this.session.waiter.isWaiting(this.key)
  }

  acquire({ owner, holds, stamp }: HoldChange, { leaseMs, note }: Wish): Promise<AcquireReply> {
    const { lockName, key } = this
    const latchKey = this.latchKey(owner)
    return acquire(this.session.runner, { lockName, key, latchKey, owner, holds, leaseMs, stamp, note })
  }

  release({ owner, holds, stamp }: HoldChange): Promise<ReleaseReply> {
    const { lockName, key, channel, isNoted } = this
    const latchKey = this.latchKey(owner)
    return release(this.session.runner, { lockName, key, latchKey, owner, holds, stamp, channel, isNoted })
  }

  override get passing(): LocalPassing | null {
    return this.passesOn ? this : null
  }

  rename(to: Successor, from: readonly string[]): Promise<RenameReply> {
    const { lockName, key } = this
    return rename(this.session.runner, { lockName, key, to, from })
  }

  async forceRelease(): Promise<boolean> {
    const { lockName, key, channel } = this
    const command = { lockName, key, channel, inboxPrefix: INBOX_PREFIX }
    return (await forceRelease(this.session.runner, command)).kind === 'released'
  }
}
