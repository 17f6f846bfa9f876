import { afterAnswers, type Runtime } from './runtime.js'

/** A command in flight, until its reply or its deadline. */
export interface InFlight {
  settled: boolean
  /** Monotonic ms; set by `CommandDeadlines.add`. */
  dueAt: number
  expire(): void
  /** Its client is closed: the deadline is cancelled, and a reply may never come. */
  abandon(): void
  /** To be called when it is settled, if there is one by then. */
  onSettled: (() => void) | undefined
}

/**
 * Deadlines of commands that all get the same time, so that they expire in the order they began: one timer for the
 * oldest, instead of one per command. A reply that has arrived counts, even if the process was too busy to read it
 * before the deadline. After a late timer, commands get as much time again as the process was late, at most their whole
 * time, and only once.
 */
export class CommandDeadlines {
  private readonly commands: InFlight[] = []
  private first = 0
  private timer: { cancel(): void } | null = null

  /**
   * `beforeResume` runs before commands expire, which resumes their callers; `begun` when a command is added while no
   * timer is set, which is rare.
   */
  constructor(
    private readonly runtime: Pick<Runtime, 'now' | 'setTimer' | 'afterTurn'>,
    readonly durationMs: number,
    private readonly beforeResume: () => void,
    private readonly begun?: () => void,
  ) {}

  add(command: InFlight): void {
    command.dueAt = this.runtime.now() + this.durationMs
    this.dropSettled()
    this.commands.push(command)
    this.timer ??= this.begin()
  }

  /**
   * Stops the timer if no command is in flight. The next one sets it again, and `begun` is called.
   * @returns whether no command is in flight
   */
  rest(): boolean {
    if (!this.dropSettled()) {
      return false
    }
    this.timer?.cancel()
    this.timer = null
    return true
  }

  /** Resolves when no command is in flight. */
  async whenSettled(): Promise<void> {
    for (let left = this.unsettled; left.length > 0; left = this.unsettled) {
      await Promise.all(left.map((each) => new Promise<void>((resolve) => (each.onSettled = resolve))))
    }
  }

  close(): void {
    this.timer?.cancel()
    this.timer = null
    const left = this.unsettled
    this.commands.length = 0
    this.first = 0
    left.forEach((each) => each.abandon())
  }

  private begin(): { cancel(): void } {
    this.begun?.()
    return this.fireAfter(this.durationMs)
  }

  private fireAfter(delayMs: number): { cancel(): void } {
    return afterAnswers(this.runtime, delayMs, () => this.fire(), this.mostAgainMs)
  }

  private readonly mostAgainMs = (): number => (this.dropSettled() ? 0 : this.durationMs)

  private get unsettled(): readonly InFlight[] {
    return this.commands.slice(this.first).filter((each) => !each.settled)
  }

  /** @returns whether none is left */
  private dropSettled(): boolean {
    while (this.commands[this.first]?.settled === true) {
      this.first += 1
    }
    if (this.first === this.commands.length) {
      this.commands.length = 0
      this.first = 0
    } else if (this.first > 256 && this.first * 2 > this.commands.length) {
      // Drops settled entries in large pieces, so that the cost per command stays constant.
      this.commands.splice(0, this.first)
      this.first = 0
    }
    return this.commands.length === 0
  }

  private fire(): void {
    // First: commands it sends call `add`, which must find this timer, or it would set another one.
    this.beforeResume()
    this.timer = null
    const now = this.runtime.now()
    const expired = this.takeDue(now)
    const next = this.commands[this.first]
    if (next) {
      this.timer = this.fireAfter(next.dueAt - now)
    }
    // Last, for the same reason: a caller that is resumed may send again at once.
    for (const command of expired) {
      command.expire()
    }
  }

  private takeDue(now: number): InFlight[] {
    const due: InFlight[] = []
    for (let command = this.commands[this.first]; command; command = this.commands[this.first]) {
      if (!command.settled) {
        if (command.dueAt > now) {
          break
        }
        command.settled = true
        due.push(command)
      }
      this.first += 1
    }
    this.dropSettled()
    return due
  }
}
