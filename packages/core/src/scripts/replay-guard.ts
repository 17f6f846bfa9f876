/**
 * Lets Redis reject late copies of a command. Commands of one acquisition are numbered; once one of them may have a
 * copy in flight (its connection broke, or it got no reply in time), every later command of that owner says so, and the script stores
 * that number in the acquisition's tombstone: a copy with a number at or below it has no effect.
 */
export interface CommandStamp {
  readonly sequence: number
  /** 0: no copy can be on its way. */
  readonly tombstoneThrough: number
}

// How late a copy may arrive: as long as some proxy between us and Redis keeps the bytes of a broken connection.
export const REPLAY_GUARD_TTL_MS = `${5 * 60_000}`

/** The ARGV by which a script tells late copies. */
export function argvOfStamp({ sequence, tombstoneThrough }: CommandStamp): readonly string[] {
  return [`${sequence}`, `${tombstoneThrough}`, REPLAY_GUARD_TTL_MS]
}
