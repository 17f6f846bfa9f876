// What `note.part.lua` writes and reads.
import { foreign } from '../../runtime/format-value.js'

/** A note that a hold shall have. */
export interface NoteRequest {
  /** Of the note, counted from this command, ms. */
  readonly ttlMs: number
  readonly traceparent: string | undefined
}

/** What is known of somebody's hold. */
export interface HoldNote {
  /** By the clock of Redis, ms. */
  readonly heldForMs: number
  readonly traceparent?: string
}

const NO_TRACE = '-'

export function wantedNote({ ttlMs, traceparent = NO_TRACE }: NoteRequest): string {
  return `${ttlMs} ${traceparent}`
}

/** The end of an answer; undefined where there is no note. */
export function noteIn([ms, traceparent]: readonly unknown[]): HoldNote | undefined {
  if (ms === undefined) {
    return undefined
  }
  // The clock of Redis may have been set back.
  const heldForMs = Math.max(0, Number(ms))
  return traceparent === NO_TRACE ? { heldForMs } : { heldForMs, traceparent: foreign(String(traceparent)) }
}
