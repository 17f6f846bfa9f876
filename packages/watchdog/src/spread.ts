import { batches } from './batches.js'

/** A renewal that has a last moment, and may come earlier. */
export interface Movable {
  readonly intervalMs: number
  /** Monotonic ms, the last moment. */
  readonly renewAt: number
  /** Renews at `at`, which is never later, and the next time `earlyMs` early as well. */
  plan(at: number, earlyMs: number): void
}

export interface SpreadOptions<T> {
  readonly now: number
  /** Most renewals that leave at one moment. */
  readonly portionSize: number
  /** How many portions all watches together are; those that are spread now are a part of them. */
  readonly portionsInAll: number
  readonly keyOf: (item: T) => unknown
}

/**
 * Plans renewals that come up together so that they do not leave together: a portion every `interval / portionsInAll`,
 * counted back from the last moment of the last one. Where there is less time than that, what there is is shared out
 * evenly. Portions that are as far apart already stay where they are.
 */
export function spread<T extends Movable>(items: readonly T[], options: SpreadOptions<T>): void {
  const { now, portionSize, portionsInAll, keyOf } = options
  const inOrder = items.toSorted((a, b) => a.renewAt - b.renewAt)
  const portions = portionsOf(batches(inOrder, portionSize, keyOf), portionSize)
  let following = Infinity
  for (const [index, members] of [...portions.entries()].reverse()) {
    const first = members[0] as T
    // Those before this one need room as well.
    const gap = Math.min(first.intervalMs / portionsInAll, (following - now) / (index + 2))
    const at = Math.min(first.renewAt, Math.max(now, following - gap))
    // One measure for all members: a portion that came apart would fill itself from the next.
    const earlyMs = first.renewAt - at
    for (const each of members) each.plan(at, earlyMs)
    following = at
  }
}

/** Small chunks together: on a cluster a chunk may be one lease. Each portion starts with its earliest item. */
function portionsOf<T>(chunks: readonly T[][], size: number): T[][] {
  const portions: T[][] = []
  let open: T[] | undefined
  for (const chunk of chunks) {
    if (open === undefined || open.length + chunk.length > size) portions.push((open = []))
    open.push(...chunk)
  }
  return portions
}
