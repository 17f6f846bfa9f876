import type { HistoryEvent } from '@holdfast/faults/harness'

type Begin = Extract<HistoryEvent, { kind: 'acquire-begin' }>
type End = Extract<HistoryEvent, { kind: 'acquired' | 'refused' | 'aborted' | 'failed' }>

/** One call that wanted a lock. */
export interface Call {
  readonly begin: Begin
  readonly end: End
}

/** The calls of a history in the order of their ends. Those of killed processes have none. */
export const callsIn = (events: readonly HistoryEvent[]): Call[] => {
  const begun = new Map<string, Begin>()
  const calls: Call[] = []
  for (const event of events) {
    if (!('attempt' in event)) continue
    const key = `${event.process} ${event.attempt}`
    if (event.kind === 'acquire-begin') begun.set(key, event)
    else {
      const begin = begun.get(key)
      if (begin) calls.push({ begin, end: event })
      begun.delete(key)
    }
  }
  return calls
}
