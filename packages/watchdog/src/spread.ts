import { batches } from './batches.js'

/** A renewal with a last moment that may be moved earlier. */
export interface Movable {
  readonly intervalMs: number
  /** The last moment, monotonic ms. */
  readonly renewAt: number
  /** Renews at `at`, which is never later, and the next time `earlyMs` early as well. */
  plan(at: number, earlyMs: number): void
}

export interface SpreadOptions<T> {
  readonly now: number
  /** Maximum number of renewals sent at one moment. */
  readonly portionSize: number
  /** Number of portions that all watches form, including those not spread now. */
  readonly portionsInAll: number
  readonly keyOf: (item: T) => unknown
}

/**
 * Spreads renewals that come due together: one portion every `interval / portionsInAll`, counted back from the last
 * moment of the last one. With less time than that, evenly over what is left. Portions that are already that far
 * apart are not moved.
 */
export function spread<T extends Movable>(items: readonly T[], options: SpreadOptions<T>): void {
  const { now, portionSize, portionsInAll, keyOf } = options
  const inOrder = items.toSorted((a, b) => a.renewAt - b.renewAt)
  const portions = portionsOf(batches(inOrder, portionSize, keyOf), portionSize)
  let following = Infinity
  for (const [index, members] of [...portions.entries()].reverse()) {
    const first = members[0] as T
    // The portions before this one need room as well.
    const gap = Math.min(first.intervalMs / portionsInAll, (following - now) / (index + 2))
    const at = Math.min(first.renewAt, Math.max(now, following - gap))
    // The same shift for all members: a portion that drifted apart would be filled up from the next.
    const earlyMs = first.renewAt - at
    for (const each of members) {
      each.plan(at, earlyMs)
    }
    following = at
  }
}

/** Merges small chunks: on a cluster a chunk may be a single lease. Each portion starts with its earliest item. */
function portionsOf<T>(chunks: readonly T[][], size: number): T[][] {
  const portions: T[][] = []
  let open: T[] | undefined
  for (const chunk of chunks) {
    if (open === undefined || open.length + chunk.length > size) {
      portions.push((open = []))
    }
    open.push(...chunk)
  }
  return portions
}
