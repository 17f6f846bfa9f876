import type { Clock } from '../system-clock.js'

export interface Deadline {
  settled: boolean
}

interface Entry extends Deadline {
  readonly dueAt: number
  readonly expire: () => void
}

/**
 * Deadlines of commands in flight that all get the same time, so that they end in the order they began: one
 * timer at the oldest, instead of one per command.
 */
export class CommandDeadlines {
  private entries: Entry[] = []
  private first = 0
  private timer: { cancel(): void } | null = null

  constructor(
    private readonly clock: Clock,
    private readonly durationMs: number,
  ) {}

  add(expire: () => void): Deadline {
    const entry: Entry = { settled: false, dueAt: this.clock.now() + this.durationMs, expire }
    this.entries.push(entry)
    this.dropSettled()
    this.timer ??= this.clock.setTimer(this.durationMs, () => this.fire())
    return entry
  }

  close(): void {
    this.timer?.cancel()
    this.timer = null
    this.entries = []
    this.first = 0
  }

  private dropSettled(): void {
    while (this.entries[this.first]?.settled === true) {
      this.first += 1
    }
    // Cut off the dead front in large pieces, so that the cost per command stays constant.
    if (this.first > 256 && this.first * 2 > this.entries.length) {
      this.entries = this.entries.slice(this.first)
      this.first = 0
    }
  }

  private fire(): void {
    this.timer = null
    const now = this.clock.now()
    for (let entry = this.entries[this.first]; entry; entry = this.entries[this.first]) {
      if (!entry.settled && entry.dueAt > now) {
        this.timer = this.clock.setTimer(entry.dueAt - now, () => this.fire())
        break
      }
      this.first += 1
      if (!entry.settled) {
        entry.settled = true
        entry.expire()
      }
    }
    this.dropSettled()
  }
}
