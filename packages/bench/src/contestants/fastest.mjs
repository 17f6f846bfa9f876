import { speed } from '../comparison.mjs'
import { holdfastEarly, holdfastLock, holdfastWithLock } from './holdfast.mjs'
import { SETTINGS } from './index.mjs'
import { raw } from './raw.mjs'
import { redisSemaphore } from './redis-semaphore.mjs'
import { redlock4 } from './redlock4.mjs'

const PEERS = [redisSemaphore, redlock4]
const OURS = [holdfastLock, holdfastWithLock, holdfastEarly]

/** Those of a setting that have a place beside each other: peers in both, since some are faster with auto-pipelining. */
const chosenOf = ({ id, contestants }, ours) =>
  contestants.filter((each) => PEERS.includes(each) || (id === 'off' && ours.includes(each)))

/**
 * Holdfast and the two peers that are the fastest of all in the scenario `uncontended`, in both settings.
 *
 * @param {{ withRaw?: boolean }} [how]
 */
export const fastest = ({ withRaw = false } = {}) =>
  SETTINGS.filter(({ id }) => id !== 'default').map((setting) => ({
    ...setting,
    contestants: chosenOf(setting, withRaw ? [raw, ...OURS] : OURS),
  }))

/** Those who do not wait for the answer of a release beside those who do. @returns {import('../scenarios/index.mjs').Bar[]} */
export const earlyBars = (results, where, least) => {
  const [early, usual] = [holdfastEarly, holdfastWithLock].map(({ name }) =>
    results.find((each) => each.name === name),
  )
  return early && usual
    ? [
        {
          text: `${where}, ${early.name}: pairs/s, of the default`,
          value: speed(early) / speed(usual),
          least,
        },
      ]
    : []
}

/** Where peers stand in both settings, and others in one. */
export const labelOf = ({ name, kind, setting }) => (kind === 'peer' ? `${name} (${setting})` : name)
