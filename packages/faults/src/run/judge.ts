import {
  checkHistory,
  formatViolation,
  type HistoryEvent,
  type HistoryOptions,
} from '@holdfast/faults/harness'
import { readHistories, runnerFile } from './history-file.js'
import type { Run, Verdict } from './scenario.js'

const MOST_SHOWN = 5

const countsOf = (names: readonly string[]): string => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, times]) => `${times} ${name}`).join(', ') || 'nothing'
}

/** The first violations of many; the rest says nothing new. */
export const firstOf = (violations: readonly string[]): string[] => {
  const more = violations.length - MOST_SHOWN
  return [...violations.slice(0, MOST_SHOWN), ...(more > 0 ? [`and ${more} violations more`] : [])]
}

/**
 * What the history checker says of a run, with figures that every scenario has.
 *
 * @param figuresOf more lines of the report
 */
export const judge = (
  run: Pick<Run<never>, 'fleet' | 'folder'>,
  limits: HistoryOptions,
  figuresOf: (events: readonly HistoryEvent[]) => readonly string[] = () => [],
): Verdict => {
  const events = readHistories([...run.fleet.files, runnerFile(run)])
  const { violations, excused, figures } = checkHistory(events, limits)
  const count = (kind: HistoryEvent['kind']): number => events.filter((event) => event.kind === kind).length
  // Workers note their start as a fault of their own; those of the runner are the ones it caused.
  const faults = events.filter(({ kind, process }) => kind === 'fault' && process === 'runner').length
  const standstills = events.filter((event) => event.kind === 'fault' && event.class === 'standstill').length
  const shown = violations.toSorted((a, b) => a.events.length - b.events.length).map(formatViolation)
  return {
    figures,
    report: [
      `${figures.acquisitions} acquisitions, ${count('refused')} refusals, ${count('aborted')} aborts, ` +
        `${count('failed')} without an answer, ${figures.losses} losses, ${faults} faults`,
      ...figuresOf(events),
      `longest wait ${Math.round(figures.longestWaitMs)} ms, longest after healing ${Math.round(figures.longestWaitAfterHealMs)} ms`,
      `explained by faults: ${countsOf(excused.map(({ check }) => check))}; ${standstills} standstills of a process`,
    ],
    violations: firstOf(shown),
  }
}
