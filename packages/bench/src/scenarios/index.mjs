import { byFlows } from './by-flows.mjs'
import { contended } from './contended.mjs'
import { features } from './features.mjs'
import { handOff } from './hand-off.mjs'
import { idleWaiters } from './idle-waiters.mjs'
import { latency } from './latency.mjs'
import { linger } from './linger.mjs'
import { network } from './network.mjs'
import { noisyNeighbour } from './noisy-neighbour.mjs'
import { overload } from './overload.mjs'
import { renewals } from './renewals.mjs'
import { share } from './share.mjs'
import { shares } from './shares.mjs'
import { uncontended } from './uncontended.mjs'
import { wakeUp } from './wake-up.mjs'

/**
 * @typedef {object} Scenario
 * @property {string} id
 * @property {string} title
 * @property {object} full what a run that measures takes
 * @property {object} small what a run takes that only counts
 * @property {(context: import('../context.mjs').Context, params: object) => Promise<object>} run what goes into the JSON
 * @property {(result: object) => string[]} problems what ends the process with 1: counts and failures, never times
 * @property {(result: object) => Bar[]} bars
 * @property {(result: object) => { title: string, head: string[], rows: string[][] }[]} tables
 * @property {(result: object) => { file: string, title: string, svg: string }[]} charts
 *
 * @typedef {{ text: string, value: number, least?: number, most?: number }} Bar without `least` and `most` only told
 */

/** Whether it runs several numbers of flows. @param {Scenario} scenario */
export const hasFlows = ({ full }) => Array.isArray(full.flows)

/** @type {Scenario[]} */
export const SCENARIOS = [
  uncontended,
  byFlows,
  noisyNeighbour,
  network,
  latency,
  features,
  contended,
  wakeUp,
  idleWaiters,
  handOff,
  renewals,
  share,
  shares,
  overload,
  linger,
]
