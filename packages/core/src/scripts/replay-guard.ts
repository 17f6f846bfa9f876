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
