import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { nowMs } from '../shared-clock.mjs'

/**
 * Appends events to a file, each with one system call: what a process wrote before it was killed is there.
 *
 * @param {string} path
 * @param {string} processName
 */
export const openHistory = (path, processName) => {
  const file = openSync(path, 'a')
  return {
    /** @param {string} kind @param {object} [more] with `atMs`, if it happened at another moment than now */
    add: (kind, more = {}) => {
      const event = { atMs: nowMs(), process: processName, kind, ...more }
      writeSync(file, `${JSON.stringify(event)}\n`)
      return event.atMs
    },
    close: () => closeSync(file),
  }
}

/** Events of several files, in the order of their time. A last line that a kill cut short is left out. */
export const readHistories = (paths) =>
  paths
    .flatMap((path) =>
      readFileSync(path, 'utf8')
        .split('\n')
        .flatMap((line) => {
          try {
            return line === '' ? [] : [JSON.parse(line)]
          } catch {
            return []
          }
        }),
    )
    .toSorted((a, b) => a.atMs - b.atMs)
