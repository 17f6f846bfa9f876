import type { Clock } from '../runtime/runtime.js'

const FIRST_LOOK_MS = 100
const LONGEST_PAUSE_MS = 1_000

/**
 * Keeps the process alive while its client has something to do, because the sockets that the client has opened do not.
 * Nothing is counted per call: a timer is set when a command begins after a rest, and looks again and again until
 * nothing is held, awaited or under way. Everything else that could begin, a hold or a wait, begins with a command.
 */
export class ProcessKeeper {
  private timer: { cancel(): void } | null = null
  private state: 'used' | 'closing' | 'closed' = 'used'

  constructor(
    /** Its timers keep the process alive. */
    private readonly clock: Pick<Clock, 'setTimer'>,
    /** Whether nothing is held, awaited or under way. After true, the next command must call `begin`. */
    private readonly rests: () => boolean,
  ) {}

  /** A command begins. */
  readonly begin = (): void => {
    if (this.state !== 'closed') {
      this.timer ??= this.lookAfter(FIRST_LOOK_MS)
    }
  }

  /** From now until `close`, whatever the client does: nothing else keeps the process alive until its caller learns of the end. */
  closing(): void {
    this.state = 'closing'
    this.begin()
  }

  close(): void {
    this.state = 'closed'
    this.timer?.cancel()
    this.timer = null
  }

  private lookAfter(pauseMs: number): { cancel(): void } {
    return this.clock.setTimer(pauseMs, () => {
      const isOver = this.state === 'used' && this.rests()
      this.timer = isOver ? null : this.lookAfter(Math.min(2 * pauseMs, LONGEST_PAUSE_MS))
    })
  }
}
