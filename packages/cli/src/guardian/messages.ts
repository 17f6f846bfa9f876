import { uptime } from 'node:os'

/**
 * Machine-wide: both processes read one monotonic clock (CLOCK_MONOTONIC), so that a time survives the pipe however long
 * either of them stood still. Milliseconds.
 */
export function machineTime(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000
}

/** How long the machine has slept since it started, and a constant: its monotonic clock stands still meanwhile. */
export function sleptMs(): number {
  return uptime() * 1_000 - machineTime()
}

/** When the group is to be ended, in machine time. */
export interface Deadlines {
  /** SIGTERM, and SIGKILL. */
  readonly termAt: number
  readonly killAt: number
  /** The value of `sleptMs()` when the times were reckoned: what the machine sleeps later is time that has passed. */
  readonly slept: number
}

/** From the command line to the guardian, a line of JSON each. */
export type ToGuardian =
  /** `group` is a process group. */
  | ({ readonly kind: 'guard'; readonly group: number } & Deadlines)
  /** After each renewal. */
  | ({ readonly kind: 'trust' } & Deadlines)
  /** The group is gone. */
  | { readonly kind: 'done' }

/** From the guardian, a line of JSON each. */
export type FromGuardian =
  /** It has the group and its times: the command may begin. */
  { readonly kind: 'guarding' } | { readonly kind: 'sent'; readonly signal: 'SIGTERM' | 'SIGKILL' }

/** Splits a stream of text into its lines, and gives each as a value. */
export function jsonLines(take: (message: unknown) => void): (text: string) => void {
  let rest = ''
  return (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      take(JSON.parse(line))
    }
  }
}
