import { type HoldChange, FairProtocol, handleReply, type ReplyHandler, type ReleaseReply } from '../door.js'
import { release } from './scripts.js'

/**
 * The fair lock of an election, for one candidature: its release ends the term in the same script. Never passed on
 * inside the process: every term has an owner, a token and data of its own in Redis.
 */
export class ElectionProtocol extends FairProtocol {
  override readonly passing = null
  /** Client id of the candidate that its release prefers; '': the first in the queue. */
  successor = ''

  override release<T>(change: HoldChange, handler: ReplyHandler<ReleaseReply, T>): Promise<T> {
    const { owner, holds, stamp } = change
    if (holds > 0) {
      return super.release(change, handler)
    }
    const { session, lockName, key, successor, isNoted } = this
    session.fairQueue.leave(owner)
    const { fairLockWaitTimeout: patienceMs } = session.options
    const tombstoneKey = this.tombstoneKey(owner)
    const given = { lockName, key, tombstoneKey, owner, stamp, patienceMs, successor, isNoted }
    return handleReply(release(session.runner, given), handler)
  }
}
