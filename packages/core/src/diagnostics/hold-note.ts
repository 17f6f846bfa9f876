import { inspect } from 'node:util'
import { warn } from '../events.js'
import type { NoteRequest } from '../scripts/note.js'

// A renewed hold may last long. Only a crashed client leaves a note behind: for a day.
const WATCHED_NOTE_MS = 86_400_000

/** https://www.w3.org/TR/trace-context/#traceparent-header, of this version or a later one. */
const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}(-[\x21-\x7e]{1,200})?$/

/**
 * The note for a call's hold. Must be called when the call begins: only then is the active trace the
 * caller's. A fixed lease bounds the note too: otherwise notes of names locked once would pile up.
 */
export function noteWish(
  describeHolds: true | (() => string | undefined),
  leaseMs: number | undefined,
): NoteRequest {
  const traceparent = describeHolds === true ? undefined : traceparentOf(describeHolds)
  return { ttlMs: leaseMs ?? WATCHED_NOTE_MS, traceparent }
}

/** A failure in tracing must not prevent an acquisition. */
function traceparentOf(describe: () => string | undefined): string | undefined {
  try {
    const told: unknown = describe()
    if (told === undefined || (typeof told === 'string' && TRACEPARENT.test(told))) {
      return told
    }
    warn('HOLDFAST_LISTENER', `describeHolds() returned no traceparent but ${inspect(told).slice(0, 100)}`)
  } catch (error) {
    warn('HOLDFAST_LISTENER', `describeHolds() threw: ${String(error)}`)
  }
  return undefined
}
