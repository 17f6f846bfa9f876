import { checkHistory, formatViolation, type HistoryEvent } from '@holdfast/faults/harness'

const of = (owner: string) => ({ process: `shop-${owner}`, lock: 'order:42', attempt: 1 })
const events: HistoryEvent[] = [
  { kind: 'acquire-begin', atMs: 100, ...of('a') },
  { kind: 'acquired', atMs: 101, ...of('a'), owner: 'a', trustedUntilMs: 131 },
  { kind: 'acquire-begin', atMs: 105, ...of('b') },
  { kind: 'acquired', atMs: 120, ...of('b'), owner: 'b', trustedUntilMs: 150 },
]

const { violations } = checkHistory(events)
for (const violation of violations) console.log(formatViolation(violation))
