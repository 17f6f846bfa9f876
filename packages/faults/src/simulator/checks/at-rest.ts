import type { HistoryEvent } from '@holdfast/faults/harness'
import type { Finding } from '../finding.js'
import { faultSpansIn } from './fault-spans.js'

/** A lock that Redis has for a living client, when every call of it has ended. */
export interface Orphan {
  readonly atMs: number
  readonly lock: string
  readonly owner: string
}

/** What was lost may have been a release, or what refuses a copy of the acquire. */
const LOSES_COMMANDS = new Set(['server-restarts-empty', 'fail-over', 'clock-forward'])

/** I2: at rest nobody holds anything, also after every late copy. */
export const checkAtRest = (events: readonly HistoryEvent[], orphans: readonly Orphan[]): Finding[] => {
  if (orphans.length === 0) return []
  const spans = faultSpansIn(events)
  return orphans.flatMap(({ lock, owner, atMs }) => {
    const isExplained = spans.some(
      (span) =>
        LOSES_COMMANDS.has(span.kind) ||
        (span.kind === 'key-vanishes' && span.part === 'tombstone' && span.lock === lock),
    )
    if (isExplained) return []
    const text = `I2 at rest on "${lock}": Redis has it for ${owner} at ${atMs.toFixed(3)}, and every call has ended`
    return [{ rule: 'I2 at rest', text, lock, untilMs: Infinity }]
  })
}
