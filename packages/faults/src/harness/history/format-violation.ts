import type { HistoryEvent } from './events.js'
import type { Violation } from './findings.js'

/** Fields that are printed in columns of their own, or in the first line. */
const COLUMNS = new Set(['atMs', 'process', 'kind', 'lock'])
const MOMENTS = new Set(['trustedUntilMs', 'untilMs'])

/** The violation, then its events one per line. Times count from the first of them. */
export const formatViolation = (violation: Violation): string => {
  const { check, invariant, lock, message, events } = violation
  const where = lock === undefined ? '' : ` on ${JSON.stringify(lock)}`
  const originMs = events[0]?.atMs ?? 0
  const rows = events.map((event) => [
    relative(event.atMs, originMs),
    event.process,
    event.kind,
    details(event, originMs),
  ])
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map(([time = '', process = '', kind = '', rest = '']) => {
    const [timeWidth = 0, processWidth = 0, kindWidth = 0] = widths
    const cells = [time.padStart(timeWidth), process.padEnd(processWidth), kind.padEnd(kindWidth), rest]
    return `  ${cells.join('  ')}`.trimEnd()
  })
  return [`${invariant} ${check}${where}: ${message}`, ...lines].join('\n')
}

const relative = (ms: number, originMs: number): string => {
  const difference = ms - originMs
  return `${difference < 0 ? '' : '+'}${difference.toFixed(3)} ms`
}

const details = (event: HistoryEvent, originMs: number): string =>
  Object.entries(event)
    .filter(([name, value]) => !COLUMNS.has(name) && value !== undefined)
    .map(([name, value]: [string, unknown]) => `${name}=${show(name, value, originMs)}`)
    .join(' ')

const show = (name: string, value: unknown, originMs: number): string => {
  if (MOMENTS.has(name) && typeof value === 'number') return relative(value, originMs)
  // An owner or a name stands as it is; one with spaces or line breaks must not break the columns.
  return typeof value === 'string' && /^\S+$/.test(value) ? value : JSON.stringify(value)
}
