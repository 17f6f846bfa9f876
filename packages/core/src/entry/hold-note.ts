import { inspect } from 'node:util'
import { warn } from '../events.js'
import type { ResolvedOptions } from '../options.js'
import type { NoteRequest } from '../scripts/lock.js'

// A hold that the watchdog renews may last for long. Only one whose client died leaves its note behind: for a day.
const WATCHED_NOTE_MS = 86_400_000

/** https://www.w3.org/TR/trace-context/#traceparent-header, of this version or a later one. */
const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}(-[\x21-\x7e]{1,200})?$/

/**
 * The note that the hold of a call shall have; undefined: none. Called when the call begins, because only there is the
 * trace around it the caller's. A fixed lease bounds the note too: names that are locked once would pile up notes.
 */
export function noteWish(
  { describeHolds }: ResolvedOptions,
  leaseMs: number | undefined,
): NoteRequest | undefined {
  if (describeHolds === undefined) {
    return undefined
  }
  const traceparent = describeHolds === true ? undefined : traceparentOf(describeHolds)
  return { ttlMs: leaseMs ?? WATCHED_NOTE_MS, traceparent }
}

/** A mistake in tracing must not keep anybody from a lock. */
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
