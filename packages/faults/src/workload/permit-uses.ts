import type { History } from '../run/history-file.js'

/** Events that the history checker does not know: calls for permits, their use, and latches. */
export type SemaphoreEvent = { readonly atMs: number; readonly process: string } & (
  | {
      readonly kind: 'take'
      readonly name: string
      readonly use: string
      readonly permits: number
      readonly waitMs: number
    }
  | { readonly kind: 'taken'; readonly use: string; readonly untilMs?: number }
  | { readonly kind: 'refused' | 'failed' | 'lost' | 'give'; readonly use: string }
  | { readonly kind: 'trusted'; readonly use: string; readonly untilMs: number }
  | { readonly kind: 'given'; readonly use: string; readonly outcome: string }
  | { readonly kind: 'too-many'; readonly name: string; readonly inUse: number }
  | {
      readonly kind: 'count' | 'counted' | 'count-failed' | 'await' | 'await-failed' | 'passed' | 'closed'
      readonly latch: string
    }
  | { readonly kind: 'at-rest' | 'killed' }
  | { readonly kind: 'fault' | 'healed'; readonly name: string }
  | { readonly kind: 'end'; readonly timers: number }
)

export type SemaphoreHistory = History<SemaphoreEvent['kind']>

/** One call for permits, and what became of them. */
export interface Use {
  readonly name: string
  readonly use: string
  readonly permits: number
  readonly waitMs: number
  readonly process: string
  readonly beginMs: number
  end?: 'taken' | 'refused' | 'failed'
  endMs?: number
  takenMs?: number
  /** Infinity: permits without an end. */
  untilMs: number
  lostMs?: number
  giveMs?: number
  givenMs?: number
  outcome?: string
  killedMs?: number | undefined
}

/** @param all in order of time @returns up to the look at what is there at rest */
export const usesIn = (all: readonly SemaphoreEvent[]): Use[] => {
  const restsAt = all.findIndex(({ kind }) => kind === 'at-rest')
  const uses = new Map<string, Use>()
  const killed = new Map<string, number>()
  for (const event of restsAt < 0 ? all : all.slice(0, restsAt)) {
    if (event.kind === 'killed') killed.set(event.process, event.atMs)
    else if (event.kind === 'take') {
      const { name, use, permits, waitMs, process, atMs } = event
      uses.set(use, { name, use, permits, waitMs, process, beginMs: atMs, untilMs: Infinity })
    } else if ('use' in event) {
      const use = uses.get(event.use)
      if (use) note(use, event)
    }
  }
  for (const use of uses.values()) use.killedMs = killed.get(use.process)
  return [...uses.values()]
}

const note = (use: Use, event: SemaphoreEvent): void => {
  const { atMs } = event
  if (event.kind === 'taken')
    Object.assign(use, { end: 'taken', endMs: atMs, takenMs: atMs, untilMs: event.untilMs ?? Infinity })
  else if (event.kind === 'refused' || event.kind === 'failed')
    Object.assign(use, { end: event.kind, endMs: atMs })
  else if (event.kind === 'trusted') {
    // Renewal never brings back what has ended: one that is trusted again was held throughout.
    if (use.lostMs === undefined && use.giveMs === undefined) use.untilMs = event.untilMs
  } else if (event.kind === 'lost') use.lostMs ??= atMs
  else if (event.kind === 'give') use.giveMs = atMs
  else if (event.kind === 'given') Object.assign(use, { givenMs: atMs, outcome: event.outcome })
}

/** Until when its permits were in use. Without an end they are in use for ever when nobody released them. */
export const usedUntilMs = (use: Use): number => {
  const { untilMs, lostMs = Infinity, giveMs = Infinity, killedMs = Infinity, name } = use
  const overMs = name.startsWith('permits') ? Math.min(lostMs, killedMs) : Infinity
  return Math.min(untilMs, giveMs, overMs)
}

export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** When the faults began that the runner caused, and when they had healed. */
export const faultsIn = (events: readonly SemaphoreEvent[]): Span[] => {
  const open = new Map<string, number>()
  const spans: Span[] = []
  for (const event of events) {
    if (event.process !== 'runner') continue
    if (event.kind === 'fault') open.set(event.name, event.atMs)
    else if (event.kind === 'healed')
      spans.push({ fromMs: open.get(event.name) ?? event.atMs, toMs: event.atMs })
  }
  return spans
}

/** No fault from `fromMs` to `toMs`, and none that healed less than `calmMs` before. */
export const isCalm = (faults: readonly Span[], { fromMs, toMs }: Span, calmMs = 0): boolean =>
  !faults.some((fault) => fault.fromMs <= toMs && fault.toMs + calmMs >= fromMs)
