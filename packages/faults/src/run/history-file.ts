import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { HistoryEvent } from '@holdfast/testing'
import { nowMs } from './shared-clock.js'

/** What one process saw, event by event. */
export interface History {
  /** @param more with `atMs`, if it happened at another moment than now @returns when it happened */
  add(kind: HistoryEvent['kind'], more?: Readonly<Record<string, unknown>>): number
  close(): void
}

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
export const readHistories = (paths: readonly string[]): HistoryEvent[] =>
  paths
    .flatMap((path) => readFileSync(path, 'utf8').split('\n').flatMap(eventIn))
    .sort((a, b) => a.atMs - b.atMs)

const eventIn = (line: string): HistoryEvent[] => {
  try {
    return line === '' ? [] : [JSON.parse(line) as HistoryEvent]
  } catch {
    return []
  }
}
