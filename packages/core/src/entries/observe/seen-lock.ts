import type { LockHolder, LockInspection } from '../../index.js'
import { lockHolder, partsOfOwner, foreign } from '../door.js'
import type { Overtakings } from './overtakings.js'
import type { LookReply } from './scripts.js'

/** Someone in a queue of Redis. */
export interface SeenWaiter {
  readonly owner: string
  /** Name of its client. Absent when the owner is not in Holdfast's form, as that of a Java client. */
  readonly clientName?: string
  /** Undefined where Redis keeps no time of arrival, as of writers and of Java clients. */
  readonly waitedMs: number | undefined
}

/** A held lock and its waiters, as Redis had them at one moment. Durations in milliseconds. */
export interface SeenLock {
  readonly name: string
  /** Only what Redis shows: `read-write`, or `fair` while it has waiters. Other kinds look alike. */
  readonly kind: NonNullable<LockInspection['kind']> | undefined
  readonly mode: 'read' | 'write' | undefined
  /** One owner, or the readers. */
  readonly holders: readonly LockHolder[]
  readonly leaseLeftMs: number
  /** The latest fencing token; undefined without a counter. */
  readonly token: string | undefined
  /** How many wait in Redis: of a plain lock the first of each client, of a read-write lock the writers. */
  readonly waiting: number
  /** The first of them, in order. */
  readonly waiters: readonly SeenWaiter[]
  /**
   * How often this observer has seen another holder while the first of its waiters stood first; turns between two looks are
   * not counted. More often than there are waiters: it is not served in turn.
   */
  readonly overtaken: number
}

export function seenLock(name: string, reply: LookReply, overtakings: Overtakings): SeenLock {
  const { ttlMs: leaseLeftMs, mode, queue, waiting, token, noted, isForeign } = reply
  const holders = [...reply.holds].map(([owner, holds]) => {
    const heldForMs = noted?.owner === owner ? noted.heldMs : undefined
    return lockHolder({ owner, holds, leaseLeftMs, heldForAtLeastMs: 0, heldForMs, isForeign })
  })
  const waiters = reply.waiters.map(({ owner, waitedMs }) => {
    const clientName = partsOfOwner(owner)?.clientName
    return { owner: foreign(owner), ...(clientName !== undefined && { clientName }), waitedMs }
  })
  const kind: LockInspection['kind'] = mode ? 'read-write' : queue === 'fair' ? 'fair' : undefined
  return {
    name,
    kind,
    mode,
    holders,
    leaseLeftMs,
    waiting,
    waiters,
    overtaken: overtakings.count(name, { holders, waiters }),
    token: token === '' ? undefined : token,
  }
}
