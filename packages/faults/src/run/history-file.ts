import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { HistoryEvent } from '@holdfast/faults/harness'
import { nowMs } from './shared-clock.js'

/**
 * What one process saw, event by event.
 *
 * @typeParam K kinds of events of one scenario, which the history checker does not know
 */
export interface History<K extends string = never> {
  /** @param more with `atMs`, if it happened at another moment than now @returns when it happened */
  add(kind: HistoryEvent['kind'] | K, more?: Readonly<Record<string, unknown>>): number
  close(): void
}

/** Events that the runner itself saw. */
export const runnerFile = ({ folder }: { readonly folder: string }): string => join(folder, 'runner.jsonl')

/** Appends events to a file, each with one system call: what a process wrote before it was killed is there. */
export const openHistory = (path: string, processName: string): History => {
  const file = openSync(path, 'a')
  return {
    add: (kind, more = {}) => {
      const event = { atMs: nowMs(), process: processName, kind, ...more }
      writeSync(file, `${JSON.stringify(event)}\n`)
      return event.atMs
    },
    close: () => closeSync(file),
  }
}

/** Events of several files, in the order of their time. A last line that a kill cut short is left out. */
export const readHistories = <E extends { readonly atMs: number } = HistoryEvent>(
  paths: readonly string[],
): E[] =>
  paths
    .flatMap((path) =>
      readFileSync(path, 'utf8')
        .split('\n')
        .flatMap(eventIn<E>),
    )
    .sort((a, b) => a.atMs - b.atMs)

const eventIn = <E>(line: string): E[] => {
  try {
    return line === '' ? [] : [JSON.parse(line) as E]
  } catch {
    return []
  }
}
