/**
 * Numbers that are the same for the same seed, so that a run can be repeated: mulberry32 (Tommy Ettinger, public
 * domain). Node's own generator takes no seed.
 *
 * @param {number} seed
 */
export const seededRandom = (seed) => {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    /** From `least` up to, and without, `below`. */
    between: (least, below) => least + next() * (below - least),
    whole: (below) => Math.floor(next() * below),
    pick: (list) => list[Math.floor(next() * list.length)],
    chance: (share) => next() < share,
  }
}
