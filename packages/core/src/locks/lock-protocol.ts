import type { CommandStamp } from '../scripts/command-stamp.js'
import type { AcquireReply } from '../scripts/lock/acquire.js'
import type { LockState } from '../scripts/lock/inspect.js'
import type { ReleaseReply } from '../scripts/lock/release.js'

/** One change of one acquisition. */
export interface HoldChange {
  readonly owner: string
  /** The hold count to have afterwards. */
  readonly holds: number
  readonly stamp: CommandStamp
}

/** What a kind of lock does in Redis. Waiting, watching, contexts and holds are the same for all kinds. */
export interface LockProtocol {
  readonly lockName: string
  /** The lock's key in Redis, and what tells this lock from every other in the client. */
  readonly key: string
  /** What a release is announced on. */
  readonly channel: string
  acquire(change: HoldChange, leaseMs: number): Promise<AcquireReply>
  release(change: HoldChange): Promise<ReleaseReply>
  /** Makes the lease last at least this long from now, ms. */
  extend(owner: string, leaseMs: number): Promise<'renewed' | 'lost'>
  forceRelease(): Promise<boolean>
  inspect(timeoutMs?: number): Promise<LockState>
}
