import type { HistoryEvent } from '@holdfast/faults/harness'
import type { Step } from './work/plan.js'
import type { Heard } from './work/stage.js'

const HIDDEN = new Set(['atMs', 'process', 'kind'])
const MOMENTS = new Set(['trustedUntilMs', 'untilMs'])

/** A process and the number of its acquisition: names of clients are long, and one process has one. */
const shortOwner = (owner: string): string => owner.replace(/~[\w-]{21}/g, '')

const detailsOf = (event: HistoryEvent): string =>
  Object.entries(event)
    .filter(([name, value]) => !HIDDEN.has(name) && value !== undefined)
    .map(([name, value]: [string, unknown]) =>
      MOMENTS.has(name) ? `${name}=${Number(value).toFixed(1)}` : `${name}=${shortOwner(String(value))}`,
    )
    .join(' ')

const rowsOf = (rows: readonly (readonly [string, string, string])[]): string[] => {
  const width = Math.max(...rows.map(([, process]) => process.length))
  return rows.map(([time, process, rest]) => `  ${time}  ${process.padEnd(width)}  ${rest}`)
}

const timeOf = (ms: number): string => ms.toFixed(3).padStart(11)

/** A history that a person can follow: ms of the world, the process, and what it saw. */
export const timelineOf = (events: readonly HistoryEvent[]): string[] =>
  rowsOf(events.map((event) => [timeOf(event.atMs), event.process, `${event.kind}  ${detailsOf(event)}`]))

/** The plan of a caller as a line. */
export const stepLine = ({ id, lock, way, mode, waitMs, leaseMs }: Step): string =>
  [
    `step ${id}: ${way}`,
    lock,
    mode,
    `waits ${waitMs}`,
    leaseMs === undefined ? undefined : `lease ${leaseMs}`,
  ]
    .filter((each) => each !== undefined)
    .join(', ')

const MOST_SHOWN = 400

/** A command that a server ran: a script by its name, and what it answered. */
export const commandLine = ({ atMs, process, words, reply }: Heard): string => {
  const shown = shortOwner(words.join(' ')).slice(0, MOST_SHOWN)
  return `  ${timeOf(atMs)}  ${process}  ${shown}  →  ${shortOwner(JSON.stringify(reply))}`
}
