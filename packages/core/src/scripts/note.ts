import { foreign } from '../runtime/format-value.js'

/** The note that a command writes for its hold: see `note.part.lua`. */
export interface NoteRequest {
  /** Time to live of the note from this command on, ms. */
  readonly ttlMs: number
  readonly traceparent: string | undefined
}

/** The part of the holder's note that a refused caller learns. */
export interface HoldNote {
  /** How long the owner has held the lock, by the clock of Redis, ms. */
  readonly heldForMs: number
  readonly traceparent?: string
}

const NO_TRACE = '-'

/** Encodes the note as an argument of a script. */
export function wantedNote({ ttlMs, traceparent = NO_TRACE }: NoteRequest): string {
  return `${ttlMs} ${traceparent}`
}

/** Reads the last two elements of a reply; undefined: the holder has no note. */
export function noteIn([ms, traceparent]: readonly unknown[]): HoldNote | undefined {
  if (ms === undefined) {
    return undefined
  }
  // The clock of Redis may have been set back.
  const heldForMs = Math.max(0, Number(ms))
  return traceparent === NO_TRACE ? { heldForMs } : { heldForMs, traceparent: foreign(String(traceparent)) }
}
