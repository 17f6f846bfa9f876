/**
 * What lets Redis refuse a copy of a command that arrives after its time. Commands of one acquisition are
 * numbered; once one of them may have left a copy on its way (its connection broke, or nobody answered in time),
 * every later one says so, and the script keeps that number in the acquisition's latch: a copy with a number at
 * or below it does nothing.
 */
export interface CommandStamp {
  readonly sequence: number
  /** 0: no copy can be on its way. */
  readonly latchThrough: number
}

// How late a copy may arrive: as long as some proxy between us and Redis keeps the bytes of a broken connection.
export const LATCH_TTL_MS = `${5 * 60_000}`

/** Numbers the commands of one acquisition and remembers which may have left a copy. */
export class CommandLedger {
  private sequence = 0
  private latchThrough = 0
  /** A full release was among those: it may have been run, though nobody knows. */
  mayBeReleased = false

  next(): CommandStamp {
    this.sequence += 1
    return { sequence: this.sequence, latchThrough: this.latchThrough }
  }

  /** A copy of this command, and of any before it, may still arrive. */
  mayArriveLate({ stamp, holds }: { readonly stamp: CommandStamp; readonly holds: number }): void {
    this.latchThrough = Math.max(this.latchThrough, stamp.sequence)
    this.mayBeReleased ||= holds === 0
  }

  /** Whether Redis may do, or may already have done, something nobody has an answer for. */
  get hasLateCopies(): boolean {
    return this.latchThrough > 0
  }
}
