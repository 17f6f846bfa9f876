import type { Acquisition } from './acquisition.js'

/** Every acquisition of one client that is held and not known to be lost. */
export class HeldLocks {
  private readonly byOwner = new Map<string, Acquisition>()
  private readonly byKey = new Map<string, Acquisition>()
  private onEmpty: (() => void) | null = null

  /** The lock has one owner, so whoever of this client had it before has lost it, and is told first (I1). */
  add(acquisition: Acquisition): void {
    this.byKey.get(acquisition.key)?.lose('gone')
    this.byKey.set(acquisition.key, acquisition)
    this.byOwner.set(acquisition.owner, acquisition)
  }

  remove(acquisition: Acquisition): void {
    this.byOwner.delete(acquisition.owner)
    if (this.byKey.get(acquisition.key) === acquisition) {
      this.byKey.delete(acquisition.key)
    }
    if (this.byOwner.size === 0) {
      this.onEmpty?.()
    }
  }

  ofOwner(owner: string): Acquisition | undefined {
    return this.byOwner.get(owner)
  }

  ofKey(key: string): Acquisition | undefined {
    return this.byKey.get(key)
  }

  get all(): Acquisition[] {
    return [...this.byOwner.values()]
  }

  /** Resolves when nothing is held. */
  whenEmpty(): Promise<void> {
    return this.byOwner.size === 0 ? Promise.resolve() : new Promise((resolve) => (this.onEmpty = resolve))
  }
}
