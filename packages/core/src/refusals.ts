import type { LockHolder } from './errors.js'
import type { Clock } from './system-clock.js'

interface Refusal {
  readonly holder: string
  readonly holds: number
  readonly ttlMs: number
  readonly at: number
  /** Since when this client has seen the same holder. */
  readonly since: number
}

/** Who refused this client's callers, by lock: only the head of a line asks Redis, its answer serves them all. */
export class Refusals {
  private readonly byKey = new Map<string, Refusal>()

  constructor(private readonly clock: Clock) {}

  note(key: string, refusal: { holder: string; holds: number; ttlMs: number }): void {
    const at = this.clock.now()
    const before = this.byKey.get(key)
    const since = before?.holder === refusal.holder ? before.since : at
    this.byKey.set(key, { holder: refusal.holder, holds: refusal.holds, ttlMs: refusal.ttlMs, at, since })
  }

  /** The lock went to another owner without anybody being refused. */
  passed(key: string, holder: string): void {
    const before = this.byKey.get(key)
    if (before) {
      const at = this.clock.now()
      this.byKey.set(key, { ...before, holder, holds: 1, since: at })
    }
  }

  holderOf(key: string): LockHolder | undefined {
    const refusal = this.byKey.get(key)
    if (!refusal) {
      return undefined
    }
    const { holder: owner, holds, ttlMs: leaseLeftMs, since } = refusal
    return { owner, holds, leaseLeftMs, heldForAtLeastMs: this.clock.now() - since }
  }

  forget(key: string): void {
    this.byKey.delete(key)
  }
}
