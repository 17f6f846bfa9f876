/** The listeners of one event. */
export class Listeners<Arguments extends readonly unknown[] = []> {
  private readonly listeners = new Set<(...told: Arguments) => void>()

  /** @returns a function that removes the listener */
  add(listener: (...told: Arguments) => void): () => void {
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
    }
  }

  /** Listeners added during the call are not called: a listener may add the next one. */
  tell(...told: Arguments): void {
    for (const listener of [...this.listeners]) {
      listener(...told)
    }
  }

  clear(): void {
    this.listeners.clear()
  }
}
