import type { Acquisition } from './acquisition.js'

/** Every acquisition of one client that is held and not known to be lost. The lock has one owner (I1). */
export class HeldLocks {
  private readonly byKey = new Map<string, Acquisition>()
  private onEmpty: (() => void) | null = null

  /** Whoever of this client had the lock before must have lost it, and is told before the new owner runs. */
  add(acquisition: Acquisition): void {
    this.byKey.get(acquisition.key)?.lose('gone')
    this.byKey.set(acquisition.key, acquisition)
  }

  remove(acquisition: Acquisition): void {
    if (this.byKey.get(acquisition.key) === acquisition) {
      this.byKey.delete(acquisition.key)
      if (this.byKey.size === 0) {
        this.onEmpty?.()
      }
    }
  }

  ofKey(key: string): Acquisition | undefined {
    return this.byKey.get(key)
  }

  get all(): Acquisition[] {
    return [...this.byKey.values()]
  }

  /** Resolves when nothing is held. */
  whenEmpty(): Promise<void> {
    return this.byKey.size === 0 ? Promise.resolve() : new Promise((resolve) => (this.onEmpty = resolve))
  }
}
