import type { ScriptRunner } from '../redis/script-runner.js'
import { look, type ForeignLook, type NamedKey } from '../scripts/foreign-lock.js'

const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 50

/**
 * How long a waiter behind a string lock pauses before it looks again, ms: other libraries publish nothing when they
 * release. Each pause is as long as all before it, so that a lock held for long costs little, and no caller waits longer
 * than about twice the hold of a short one.
 * @param seenForMs how long this client has seen the same string
 */
export function pauseBehindForeign(seenForMs: number): number {
  return Math.min(Math.max(seenForMs, FIRST_PAUSE_MS), LONGEST_PAUSE_MS)
}

/** One client's looks at strings under the names of locks. Readers try together, so they look together. */
export class ForeignLooks {
  private readonly underWay = new Map<string, Promise<ForeignLook>>()

  constructor(private readonly runner: ScriptRunner) {}

  at(lock: NamedKey): Promise<ForeignLook> {
    const { key } = lock
    const known = this.underWay.get(key)
    if (known) {
      return known
    }
    const found = look(this.runner, lock).finally(() => this.underWay.delete(key))
    this.underWay.set(key, found)
    return found
  }
}
