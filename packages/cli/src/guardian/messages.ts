/**
 * Machine-wide: both processes read one monotonic clock (CLOCK_MONOTONIC), so that a time survives the pipe however long
 * either of them stood still. Milliseconds.
 */
export function machineTime(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000
}

/** From the command line to the guardian, a line of JSON each. */
export type ToGuardian =
  | {
      readonly kind: 'guard'
      /** The process group. */
      readonly group: number
      /** SIGTERM at this machine time, SIGKILL at that. */
      readonly termAt: number
      readonly killAt: number
    }
  /** After each renewal. */
  | { readonly kind: 'trust'; readonly termAt: number; readonly killAt: number }
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
