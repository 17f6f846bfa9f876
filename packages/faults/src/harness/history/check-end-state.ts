import type { End } from './events.js'
import type { Findings } from './findings.js'

/** I5: nothing is left. */
export const checkEndState = (ends: readonly End[], findings: Findings): void => {
  for (const end of ends) {
    const left = [
      ...end.keys.map((key) => `key ${JSON.stringify(key)}`),
      ...end.channels.map((channel) => `channel ${JSON.stringify(channel)}`),
      ...(end.timers === 0 ? [] : [`${end.timers} timer${end.timers === 1 ? '' : 's'}`]),
    ]
    if (left.length === 0) continue
    const message = `${end.process} left ${left.join(', ')}`
    findings.add({ check: 'end-state', invariant: 'I5', message, events: [end] })
  }
}
