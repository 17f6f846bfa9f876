/** Who wants to be told of one thing. */
export class Listeners<Arguments extends readonly unknown[] = []> {
  private readonly listeners = new Set<(...told: Arguments) => void>()

  /** @returns Ends what was added. */
  add(listener: (...told: Arguments) => void): () => void {
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
    }
  }

  /** Those who come while it is told are not told: a listener may add the next one. */
  tell(...told: Arguments): void {
    for (const listener of [...this.listeners]) listener(...told)
  }

  clear(): void {
    this.listeners.clear()
  }
}
