import {
  checkHistory,
  type CheckName,
  type HistoryEvent,
  type HistoryReport,
  type Token,
} from '@holdfast/faults/harness'

// The owners of one lock record these, each in a process of its own.

export const lock = 'order:42'
export const of = (owner: string) => ({ process: `process-${owner}`, lock, owner })

export const call = (name: string) => ({ process: `process-${name}`, lock, attempt: name })
export const begin = (name: string, atMs: number, deadlineMs?: number): HistoryEvent => {
  return { kind: 'acquire-begin', atMs, ...call(name), deadlineMs }
}
export const ended = (kind: 'refused' | 'aborted', name: string, atMs: number): HistoryEvent => {
  return { kind, atMs, ...call(name) }
}

/** An owner's call and success, one ms apart. */
export const acquire = (
  owner: string,
  atMs: number,
  trustedUntilMs: number,
  token?: Token,
): HistoryEvent[] => [
  { kind: 'acquire-begin', atMs: atMs - 1, process: `process-${owner}`, lock, attempt: atMs },
  { kind: 'acquired', atMs, ...of(owner), attempt: atMs, trustedUntilMs, token },
]
export const trusted = (owner: string, atMs: number, untilMs: number): HistoryEvent => {
  return { kind: 'trusted', atMs, ...of(owner), untilMs }
}
export const lost = (owner: string, atMs: number, reason = 'closed'): HistoryEvent => {
  return { kind: 'lost', atMs, ...of(owner), reason }
}
export const release = (owner: string, atMs: number): HistoryEvent => ({
  kind: 'release-begin',
  atMs,
  ...of(owner),
})
export const write = (owner: string, atMs: number, token?: Token, accepted = true): HistoryEvent => {
  return { kind: 'write', atMs, ...of(owner), token, accepted }
}
export const fault = (
  atMs: number,
  only?: string,
  kind: 'data-loss' | 'lock-loss' | 'disturbance' = 'data-loss',
): HistoryEvent => {
  return { kind: 'fault', atMs, process: 'test', name: 'restart', class: kind, lock: only }
}
export const healed = (atMs: number): HistoryEvent => ({
  kind: 'healed',
  atMs,
  process: 'test',
  name: 'restart',
})
export const noise = (atMs: number): HistoryEvent[] => {
  const other = { process: 'q', lock: 'other', owner: `noise-${atMs}` }
  return [
    { kind: 'acquire-begin', atMs, ...other, attempt: `noise-${atMs}` },
    { kind: 'acquired', atMs, ...other, attempt: `noise-${atMs}`, trustedUntilMs: atMs + 0.5 },
    { kind: 'write', atMs, ...other, accepted: true },
  ]
}

export const check = (...events: (HistoryEvent | HistoryEvent[])[]): HistoryReport =>
  checkHistory(events.flat())
export const isClean = { violations: [], excused: [] }
/** A finding of a check about the lock, with the events that prove it. */
export const violation = (
  check: CheckName,
  invariant: string,
  message: string,
  ...events: HistoryEvent[]
) => ({ check, invariant, lock, message, events })
