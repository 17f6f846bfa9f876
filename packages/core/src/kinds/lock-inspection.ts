import { lockHolder, type LockHolder } from '../lock-holder.js'
import type { LockKind } from '../diagnostics/messages.js'
import type { LockFacts } from '../scripts/lock.js'

/** A read-write lock is inspected as a whole, through either of its locks. */
export type InspectedKind = Exclude<LockKind, 'read' | 'write'> | 'read-write'

/** A held lock, as Redis had it at one moment. Durations in milliseconds. */
export interface LockInspection {
  readonly name: string
  /**
   * The kind of the lock object that was asked. From `inspectAll` only `read-write`, or `fair` while it has waiters:
   * other kinds look alike in Redis.
   */
  readonly kind: InspectedKind | undefined
  /** For a read-write lock only. */
  readonly mode: 'read' | 'write' | undefined
  /** One owner, or the readers. A writer may also be a reader. */
  readonly holders: readonly LockHolder[]
  /** -1 for a key without a time to live. */
  readonly leaseLeftMs: number
  /** Number of waiters of a fair lock, or of waiting writers; undefined where Redis keeps no queue. */
  readonly waiting: number | undefined
  /** The latest fencing token; undefined without a counter. */
  readonly token: string | undefined
}

/** Null: the lock is free. */
export function inspectionOf(name: string, facts: LockFacts | null, of?: LockKind): LockInspection | null {
  if (!facts || facts.holds.size === 0) {
    return null
  }
  const { mode, ttlMs, inLine, token } = facts
  const asked = of && inspectedKind(of)
  const kind = asked ?? (mode ? 'read-write' : inLine > 0 ? 'fair' : undefined)
  const waiting = kind?.endsWith('fair') ? inLine : kind === 'read-write' ? facts.waitingWriters : undefined
  const isCounted = token !== '' && (asked === undefined || asked === 'fenced')
  const holders = [...facts.holds].map(([owner, holds]) => holderIn(facts, owner, holds))
  return { name, kind, mode, holders, leaseLeftMs: ttlMs, waiting, token: isCounted ? token : undefined }
}

function holderIn(facts: LockFacts, owner: string, holds: number): LockHolder {
  const { ttlMs, notedOwner, note, isForeign } = facts
  const known = owner === notedOwner ? note : undefined
  const heldForAtLeastMs = known?.heldForMs ?? 0
  return lockHolder({ owner, holds, leaseLeftMs: ttlMs, heldForAtLeastMs, isForeign, ...known })
}

function inspectedKind(kind: LockKind): InspectedKind {
  return kind === 'read' || kind === 'write' ? 'read-write' : kind
}
