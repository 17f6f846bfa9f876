import { ChurnMap } from '@holdfast/waiter'
import type { Acquisition } from './acquisition.js'

/** Every acquisition of one client that is held and not known to be lost. A lock has one owner, or readers (I1). */
export class HeldLocks {
  private readonly exclusive = new ChurnMap<string, Acquisition>()
  private readonly shared = new ChurnMap<string, Set<Acquisition>>()
  private onEmpty: (() => void) | null = null

  /** Whoever of this client had the lock before must have lost it, and is told before the new owner runs. */
  add(acquisition: Acquisition): void {
    const { key } = acquisition
    const owner = this.exclusive.get(key)
    if (owner?.owner !== acquisition.around.joins) {
      owner?.lose('gone')
    }
    if (!acquisition.shared) {
      for (const reader of [...(this.shared.get(key) ?? [])]) {
        reader.lose('gone')
      }
      this.exclusive.set(key, acquisition)
      return
    }
    const readers = this.shared.get(key) ?? new Set<Acquisition>()
    this.shared.set(key, readers.add(acquisition))
  }

  /** Whether an owner of this client has it alone. */
  isHeld(key: string): boolean {
    return this.exclusive.has(key)
  }

  remove(acquisition: Acquisition): void {
    const { key } = acquisition
    if (this.exclusive.get(key) === acquisition) {
      this.exclusive.delete(key)
    } else {
      const readers = this.shared.get(key)
      if (!readers?.delete(acquisition)) {
        return
      }
      if (readers.size === 0) {
        this.shared.delete(key)
      }
    }
    if (this.isEmpty) {
      this.onEmpty?.()
    }
  }

  ofScope(scope: string): Acquisition[] {
    return this.all.filter((each) => each.scope === scope)
  }

  get all(): Acquisition[] {
    return [...this.exclusive.all, ...this.shared.all.flatMap((readers) => [...readers])]
  }

  /** Resolves when nothing is held. */
  whenEmpty(): Promise<void> {
    return this.isEmpty ? Promise.resolve() : new Promise((resolve) => (this.onEmpty = resolve))
  }

  private get isEmpty(): boolean {
    return this.exclusive.size === 0 && this.shared.size === 0
  }
}
