export interface SeededRandom {
  /** From 0 up to, and without, 1. */
  readonly next: () => number
  /** From `least` up to, and without, `below`. */
  readonly between: (least: number, below: number) => number
  /** A whole number from 0 up to, and without, `below`. */
  readonly whole: (below: number) => number
  readonly pick: <T>(list: readonly T[]) => T
  readonly chance: (share: number) => boolean
}

/**
 * Numbers that are the same for the same seed, so that a run can be repeated: mulberry32 (Tommy Ettinger, public
 * domain). Node's own generator takes no seed.
 */
export const seededRandom = (seed: number): SeededRandom => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    between: (least, below) => least + next() * (below - least),
    whole: (below) => Math.floor(next() * below),
    pick: (list) => list[Math.floor(next() * list.length)] as (typeof list)[number],
    chance: (share) => next() < share,
  }
}
