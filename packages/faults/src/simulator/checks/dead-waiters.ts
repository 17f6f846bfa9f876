import type { HistoryEvent } from '@holdfast/faults/harness'
import { kindOf } from '../../workload/lock-kinds.js'
import type { Span } from '../../workload/permit-uses.js'

/** A silence is noticed after 1.2 heartbeats (decision 0013), and the last one was up to one before anybody left. */
const NOTICED_AFTER = 0.2

/** Who asks a fair lock's line for something, when; and who died in it. */
interface Line {
  readonly asked: Span[]
  readonly deaths: Map<string, number>
}

/** Undefined: no such waiter was left, or others were heard until it counted as dead. */
interface AskedBehind {
  /** A waiter of a process that was killed. */
  readonly killed: (process: string, lock: string) => number | undefined
  /** A waiter whose caller left, which Redis lost with its latest data. */
  readonly restored: (lossMs: number, lock: string) => number | undefined
}

/**
 * When somebody first asks a fair lock behind a waiter without a caller. Where nobody at all was heard for more than a
 * heartbeat, Redis may have been away, and whoever lived before gets two heartbeats more (decision 0013): such a waiter
 * then delays the next by two heartbeats from this moment on, however long ago its caller died or left. That caller's
 * client may live: without callers at a lock it sends no heartbeats for it, and so does not withdraw the waiter.
 *
 * @param resyncMs a heartbeat
 */
export const askedBehind = (events: readonly HistoryEvent[], resyncMs: number): AskedBehind => {
  const lines = linesIn(events)
  return {
    killed: (process, lock) => {
      const line = lines.get(lock)
      const diedMs = line?.deaths.get(process)
      return line && diedMs !== undefined ? firstAfterSilence(line, diedMs, resyncMs) : undefined
    },
    restored: (lossMs, lock) => {
      const line = lines.get(lock)
      const wasAsked = line?.asked.some(({ fromMs }) => fromMs < lossMs)
      return line && wasAsked ? firstAfterSilence(line, lossMs, resyncMs) : undefined
    },
  }
}

const firstAfterSilence = ({ asked }: Line, leftMs: number, resyncMs: number): number | undefined => {
  let [heardMs, foundMs]: [number, number | undefined] = [leftMs, undefined]
  for (const { fromMs, toMs } of asked.toSorted((a, b) => a.fromMs - b.fromMs)) {
    // From then on it counts as dead.
    if (heardMs > leftMs + 2 * resyncMs) break
    if (fromMs > heardMs + NOTICED_AFTER * resyncMs) foundMs = fromMs
    heardMs = Math.max(heardMs, toMs)
  }
  return foundMs
}

const linesIn = (events: readonly HistoryEvent[]): Map<string, Line> => {
  const lines = new Map<string, Line>()
  const waiting = new Map<
    string,
    { readonly process: string; readonly line: Line; readonly fromMs: number }
  >()
  for (const event of events) {
    const { process, atMs } = event
    if (event.kind === 'killed') {
      for (const [key, { line, fromMs, ...wait }] of waiting) {
        if (wait.process !== process) continue
        line.asked.push({ fromMs, toMs: atMs })
        line.deaths.set(process, atMs)
        waiting.delete(key)
      }
    }
    if (!('lock' in event) || event.lock === undefined || kindOf(event.lock) !== 'fair') continue
    const line = lines.get(event.lock) ?? { asked: [], deaths: new Map<string, number>() }
    lines.set(event.lock, line)
    if (event.kind === 'release-begin') line.asked.push({ fromMs: atMs, toMs: atMs })
    if (!('attempt' in event)) continue
    const key = `${process} ${event.attempt}`
    if (event.kind === 'acquire-begin') waiting.set(key, { process, line, fromMs: atMs })
    else {
      const { fromMs = atMs } = waiting.get(key) ?? {}
      line.asked.push({ fromMs, toMs: atMs })
      waiting.delete(key)
    }
  }
  return lines
}
