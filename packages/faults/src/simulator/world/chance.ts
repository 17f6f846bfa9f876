import { seededRandom, type SeededRandom } from '../../harness/seeded-random.js'

const OFFSET = 0x811c9dc5
const PRIME = 0x01000193

/** FNV-1a (Fowler, Noll and Vo; public domain): a number for a text. */
const numberOf = (text: string): number => {
  let hash = OFFSET
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME)
  return hash >>> 0
}

/**
 * A stream of chance of its own for each part of a world: what one part draws changes nothing for another, so that a
 * history stays nearly the same when a step is left out.
 */
export const chanceOf = (seed: number, part: string): SeededRandom =>
  seededRandom(numberOf(`${seed}/${part}`))
