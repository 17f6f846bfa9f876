import { ChurnMap } from '@holdfast/waiter'
import type { Context } from '../context/context.js'
import type { LockKind } from '../diagnostics/messages.js'
import type { LossReason } from '../errors.js'
import type { FieldNames } from '../hold.js'

/** A held lock, as its client tracks it. */
export interface HeldLock {
  readonly lockName: string
  readonly protocol: {
    readonly kind: LockKind
    readonly key: string
    /** See `LockProtocol.scope`. */
    readonly scope: string
    readonly shared: boolean
  }
  readonly trustedForMs: number
  readonly lease: {
    /** Monotonic ms. */
    readonly heldSince: number
    /** A message reports a forced release: asks Redis whether it is true. */
    doubtForced(): void
    lose(reason: LossReason): void
  }
  readonly owner: string
  /** The levels that the holder already had, as far as this kind of lock takes it into account. */
  readonly rule: { readonly besideOwner: string }
  /** The logical thread it belongs to; null outside any context. */
  readonly thread: Context | null
  readonly field: FieldNames
  /** The level that a plain `unlock()` would release. */
  readonly latestLevel: object | undefined
  /** For how long, ms, a release may still pass the lock to the next caller of this client; 0: Redis has to be asked. */
  passesForMs(now: number): number
  /** The client is closing: ends every level first, and only then releases the lock. */
  releaseOnClose(): Promise<unknown>
}

/** All acquisitions of one client that are held and not known to be lost. A lock has one owner, or readers (I1). */
export class HeldLocks {
  private readonly exclusive = new ChurnMap<string, HeldLock>()
  private readonly shared = new ChurnMap<string, Set<HeldLock>>()
  private onEmpty: (() => void) | null = null

  /** A previous holder in this client must have lost the lock: its signal aborts before the new owner runs. */
  add(acquisition: HeldLock): void {
    const { key, shared } = acquisition.protocol
    const owner = this.exclusive.get(key)
    if (owner?.owner !== acquisition.rule.besideOwner) {
      owner?.lease.lose('gone')
    }
    if (!shared) {
      this.shared.get(key)?.forEach((reader) => reader.lease.lose('gone'))
      this.exclusive.set(key, acquisition)
      return
    }
    const readers = this.shared.get(key) ?? new Set<HeldLock>()
    this.shared.set(key, readers.add(acquisition))
  }

  /** Whether an owner of this client holds the lock exclusively. */
  isHeld(key: string): boolean {
    return this.exclusive.has(key)
  }

  /** The owner of this client that holds the lock exclusively. */
  ownerOf(key: string): HeldLock | undefined {
    return this.exclusive.get(key)
  }

  /** An owner that took the lock by `lock()`, `tryLock()` or `acquire()`: it stays until it is released. */
  byHand(key: string): HeldLock | undefined {
    const owner = this.exclusive.get(key)
    if (owner && isByHand(owner)) {
      return owner
    }
    for (const reader of this.shared.get(key) ?? []) {
      if (isByHand(reader)) {
        return reader
      }
    }
    return undefined
  }

  remove(acquisition: HeldLock): void {
    const { key } = acquisition.protocol
    if (!this.exclusive.delete(key, acquisition)) {
      const readers = this.shared.get(key)
      if (!readers?.delete(acquisition)) {
        return
      }
      if (readers.size === 0) {
        this.shared.delete(key)
      }
    }
    if (this.onEmpty && this.isEmpty) {
      this.onEmpty()
    }
  }

  ofScope(scope: string): HeldLock[] {
    return this.all.filter((each) => each.protocol.scope === scope)
  }

  get all(): HeldLock[] {
    return [...this.exclusive.all, ...this.shared.all.flatMap((readers) => [...readers])]
  }

  /** Resolves when nothing is held. */
  whenEmpty(): Promise<void> {
    return this.isEmpty ? Promise.resolve() : new Promise((resolve) => (this.onEmpty = resolve))
  }

  get isEmpty(): boolean {
    return this.exclusive.size === 0 && this.shared.size === 0
  }
}

// A `withLock` outside contexts opens one for its callback, and no context keeps what a `withLock` takes.
function isByHand({ thread, protocol }: HeldLock): boolean {
  return thread === null || thread.heldByHand(protocol.scope) !== undefined
}
