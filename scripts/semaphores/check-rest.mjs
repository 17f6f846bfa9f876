import { kindOf } from './names.mjs'

// Without a fault on the wires an undoing that its caller does not wait for has come through by then.
const UNDOING_MS = 1_000

/**
 * Of permits without an end: what is missing at rest is what killed processes had. What they had on its way at the
 * kill, to be taken or given back, may have happened or not: that much is in doubt.
 *
 * @param {import('./read-uses.mjs').Read[]} uses
 * @param {{ name: string, free: number, inUse: number }[]} atRest `inUse`: by the Redis that is not under test
 * @param {{ permits: number, calmWires: boolean }} run
 * @returns {{ lost: number, held: number, inDoubt: number, problems: string[] }}
 */
export const checkPool = (uses, atRest, { permits, calmWires }) => {
  const total = { lost: 0, held: 0, inDoubt: 0, problems: [] }
  for (const { name, free, inUse } of atRest) {
    const ofDead = uses.filter((use) => use.name === name && use.killedMs !== undefined)
    const held = sum(ofDead.filter(isHeld))
    const inDoubt = sum(ofDead.filter((use) => isInDoubt(use, calmWires)))
    const lost = permits - free
    total.lost += lost
    total.held += held
    total.inDoubt += inDoubt
    if (lost < held || lost > held + inDoubt) {
      const range = `${held} to ${held + inDoubt}`
      total.problems.push(
        `I2 ${name}: ${lost} of ${permits} permits are missing; killed processes had ${range}`,
      )
    }
    // Whoever is in the truth had begun to use what it took, and had not begun to give it back.
    if (inUse > lost) {
      total.problems.push(`I2 ${name}: killed processes used ${inUse} permits, but ${lost} are missing`)
    }
  }
  return total
}

/**
 * Of permits that end: all are back.
 *
 * @param {{ name: string, free: number, held: number }[]} atRest
 */
export const checkSeats = (atRest, permits) =>
  atRest
    .filter(({ free, held }) => free !== permits || held !== 0)
    .map(
      ({ name, free, held }) =>
        `I2 ${name}: ${free} of ${permits} permits are free and ${held} held, at rest`,
    )

const isHeld = ({ takenMs, giveMs }) => takenMs !== undefined && giveMs === undefined

const isInDoubt = ({ end, endMs, giveMs, givenMs, outcome, killedMs }, calmWires) => {
  if (end === undefined) return true
  const isRecent = (atMs) => !calmWires || atMs > killedMs - UNDOING_MS
  if (end === 'taken') return giveMs !== undefined && (givenMs === undefined || isUnanswered(outcome))
  return isRecent(endMs)
}

const isUnanswered = (outcome) => outcome === 'REDIS_UNAVAILABLE'

const sum = (uses) => uses.reduce((total, { permits }) => total + permits, 0)

/** @param {string} name */
export const isPool = (name) => kindOf(name) === 'semaphore'
