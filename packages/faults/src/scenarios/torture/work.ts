import { setTimeout as sleep } from 'node:timers/promises'
import { LockLostError } from '@holdfast/core'
import type { History } from '../../run/history-file.js'
import type { SeededRandom } from '../../run/random.js'
import { trust, type Held } from '../../workload/attempt.js'
import type { Register } from '../../workload/register.js'

/** How often an owner whose register is guarded writes without a look at its lock. */
const CARELESS = 0.3
const LONGEST_STEP_MS = 25

export interface WorkParts {
  readonly history: History
  readonly random: SeededRandom
  readonly register: Register
}

/**
 * The work of an owner: it writes, or reads, while it may trust its lock. Where tokens guard the register it writes also
 * without having looked, as code does that goes on after a pause before Holdfast can tell it anything.
 */
export const work = async (parts: WorkParts, held: Held): Promise<void> => {
  const { random } = parts
  const { hold, leaseMs } = held
  for (let step = random.whole(5); step > 0; step -= 1) {
    if (hold.token !== undefined && random.chance(CARELESS)) {
      // A lease that is not renewed may be over by then, and another owner may have written.
      await sleep(random.between(0, leaseMs === undefined ? LONGEST_STEP_MS : 2 * leaseMs))
    } else {
      await sleep(random.between(0, LONGEST_STEP_MS))
      if (random.chance(0.1)) await hold.verify()
      if (random.chance(0.1)) await hold.extend(600)
      if (!isTrusted(parts, held)) return
    }
    if (held.mode !== 'shared') await write(parts, held)
  }
}

const isTrusted = ({ history }: WorkParts, held: Held): boolean => {
  try {
    held.hold.ensure()
  } catch (error) {
    if (error instanceof LockLostError) return false
    throw error
  }
  return trust(history, held) !== undefined
}

const write = async ({ history, register }: WorkParts, { hold, lock, owner }: Held): Promise<void> => {
  const { token } = hold
  const decision = token === undefined ? { accepted: true } : await register.write(lock, token, owner)
  history.add('write', { lock, owner, token, ...decision })
}
