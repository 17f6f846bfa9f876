import type { Redis } from 'ioredis'

/** Work that goes wrong when two do it at once: a lock is for that. */
export class CriticalSection {
  private inside = 0
  private most = 0
  private entries = 0

  constructor(
    private readonly redis: Redis,
    private readonly counter: string,
  ) {}

  /** Reads a counter and writes it back: a second caller in between makes an increment disappear. */
  readonly enter = async (): Promise<void> => {
    this.inside += 1
    this.entries += 1
    this.most = Math.max(this.most, this.inside)
    try {
      const before = Number(await this.redis.get(this.counter))
      await this.redis.set(this.counter, before + 1)
    } finally {
      this.inside -= 1
    }
  }

  /** The events so far. Removes the counter. */
  async result(): Promise<{ entries: number; mostInside: number; counted: number }> {
    const counted = Number(await this.redis.getdel(this.counter))
    return { entries: this.entries, mostInside: this.most, counted }
  }
}

/** The `result` of `entries` callers that came in one after another. */
export function oneAfterAnother(entries: number): { entries: number; mostInside: number; counted: number } {
  return { entries, mostInside: 1, counted: entries }
}
