import { difference } from './compare.mjs'
import { EngineSide } from './engine-side.mjs'
import { programOf } from './program.mjs'

/** Between them the scripts that programs bring along are forgotten, on both sides. */
const PROGRAMS_PER_RESET = 500
/** A difference that does not show in each of so many runs is the clock's: a key that ends in that very microsecond. */
const TIMES = 6

/** One mistake shows in many programs; of several it helps to see more than one. */
const MOST_DIFFERENCES = 10

/** @typedef {import('./program.mjs').Step} Step */

/** The engine beside one real server. */
export class Pair {
  #engine
  #real
  #release

  /** @param {import('./real-side.mjs').RealSide} real @param {import('./releases.mjs').Release} release */
  constructor(real, release) {
    this.#engine = new EngineSide(release)
    this.#real = real
    this.#release = release
  }

  /** @param {Step[]} steps */
  async differenceIn(steps) {
    const beginning = Date.now()
    const real = await this.#real.run(steps, beginning)
    const engine = this.#engine.run(steps, beginning, real)
    return difference(steps, engine, real, this.#release)
  }

  async reset() {
    await this.#real.reset()
    this.#engine.reset()
  }

  /** A difference that is there each time, at the same place. @param {Step[]} steps */
  async lastingDifferenceIn(steps) {
    let found = null
    for (let i = 0; i < TIMES; i += 1) {
      const different = await this.differenceIn(steps)
      if (!different || (found && found.where !== different.where)) return null
      found = different
    }
    return found
  }
}

/**
 * Runs programs until so many operations are done, or ten programs are not the same on both.
 *
 * @param {Pair} pair
 * @param {{ seed: number, operations: number, signal: AbortSignal }} extent
 * @returns {Promise<{ operations: number, programs: number, byTheClock: number, different: { number: number, steps: Step[],
 *   found: { where: string, engine: unknown, real: unknown } }[] }>}
 */
export const holdAgainst = async (pair, { seed, operations, signal }) => {
  const done = { operations: 0, programs: 0, byTheClock: 0, different: [] }
  while (done.operations < operations && done.different.length < MOST_DIFFERENCES && !signal.aborted) {
    const steps = programOf(seed, done.programs)
    const isDifferent = await pair.differenceIn(steps).catch((error) => {
      throw new Error(`program ${done.programs} of seed ${seed}: ${error.message}`, { cause: error })
    })
    if (isDifferent) {
      const found = await pair.lastingDifferenceIn(steps)
      if (found) done.different.push({ number: done.programs, ...(await shrunk(pair, steps, found)) })
      else done.byTheClock += 1
    }
    done.programs += 1
    done.operations += steps.length
    if (done.programs % PROGRAMS_PER_RESET === 0) await pair.reset()
  }
  const different = []
  // A machine that was busy just then may have stood still in each of those runs. A mistake is there later, too.
  for (const each of done.different) {
    if (signal.aborted || (await pair.lastingDifferenceIn(each.steps))) different.push(each)
  }
  const byTheClock = done.byTheClock + done.different.length - different.length
  return { ...done, byTheClock, different }
}

/** The shortest program that still shows a difference: parts are left out, then words of a step. */
const shrunk = async (pair, whole, first) => {
  let [steps, found] = [whole, first]
  const last = Number(/^step (\d+)/.exec(first.where)?.[1] ?? whole.length)
  const attempt = async (fewer) => {
    const different = fewer.length > 0 ? await pair.lastingDifferenceIn(fewer) : null
    if (different) [steps, found] = [fewer, different]
    return different !== null
  }
  await attempt(steps.slice(0, last))
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < steps.length;) {
      const isLess = await attempt([...steps.slice(0, at), ...steps.slice(at + size)])
      if (!isLess) at += size
    }
  }
  for (let i = 0; i < steps.length; i += 1) {
    const step = steps[i]
    if (step.kind !== 'command') continue
    for (let at = step.words.length - 1; at > 0; at -= 1) {
      const { words } = steps[i]
      const fewer = { ...step, words: words.filter((_, place) => place !== at) }
      await attempt([...steps.slice(0, i), fewer, ...steps.slice(i + 1)])
    }
  }
  return { steps, found }
}
