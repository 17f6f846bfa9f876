import { setTimeout as sleep } from 'node:timers/promises'
import { LockLostError } from '@holdfast/core'
import { nowMs } from '../shared-clock.mjs'

/** How often an owner whose register is guarded writes without a look at its lock. */
const CARELESS = 0.3
const LONGEST_STEP_MS = 25

/**
 * What an owner does with its lock: it writes, or reads, while it may believe, and where tokens guard the register
 * it writes also without having looked, as code does that goes on after a pause before Holdfast can tell it anything.
 *
 * @param {{ history: any, random: any, register: import('./register.mjs').Register }} parts
 * @param {import('./attempt.mjs').Held} held
 */
export const work = async (parts, held) => {
  const { random } = parts
  const { hold, leaseMs } = held
  for (let step = random.whole(5); step > 0; step -= 1) {
    if (hold.token !== undefined && random.chance(CARELESS)) {
      // Where nobody renews the lease it may be over by then, and somebody else may have written.
      await sleep(random.between(0, leaseMs ? 2 * leaseMs : LONGEST_STEP_MS))
    } else {
      await sleep(random.between(0, LONGEST_STEP_MS))
      if (random.chance(0.1)) await hold.verify()
      if (random.chance(0.1)) await hold.extend(600)
      if (!isTrusted(parts, held)) return
    }
    if (held.mode !== 'shared') await write(parts, held)
  }
}

const isTrusted = ({ history }, held) => {
  try {
    held.hold.ensure()
  } catch (error) {
    if (error instanceof LockLostError) return false
    throw error
  }
  return trust(history, held)
}

/**
 * Says until when. A process that stood still after it had looked has nothing to say any more: of a trust that is
 * over, the checker would think that it had been renewed without a gap.
 *
 * @param {any} history
 * @param {import('./attempt.mjs').Held} held
 */
export const trust = (history, { hold, lock, owner }) => {
  const atMs = nowMs()
  const { trustedForMs } = hold
  if (trustedForMs <= 0) return false
  history.add('trusted', { atMs, lock, owner, untilMs: atMs + trustedForMs })
  return true
}

const write = async ({ history, register }, { hold, lock, owner }) => {
  const { token } = hold
  const decision = token === undefined ? { accepted: true } : await register.write(lock, token, owner)
  history.add('write', { lock, owner, token, ...decision })
}
