import { setImmediate } from 'node:timers/promises'
import {
  FEATURES,
  holdfastDefault,
  holdfastEarly,
  holdfastFair,
  holdfastLinger,
  holdfastLock,
  holdfastUnbatched,
  holdfastWithLock,
} from './holdfast.mjs'
import { nodeRedisson, nodeRedissonDefault } from './node-redisson.mjs'
import { raw } from './raw.mjs'
import { redisSemaphore, redisSemaphoreDefault } from './redis-semaphore.mjs'
import { redlock, redlockDefault } from './redlock.mjs'
import { redlock4, redlock4Default } from './redlock4.mjs'
import { redlockUniversal, redlockUniversalDefault } from './redlock-universal.mjs'

/**
 * @typedef {object} Contestant
 * @property {string} name
 * @property {'raw' | 'holdfast' | 'peer'} kind
 * @property {string} package
 * @property {boolean} polls whether whoever waits asks again and again
 * @property {Record<string, number>} calls what one pair that nobody disturbs makes Redis do
 * @property {boolean} [shared] whether callers that shall exclude each other may share one lock object
 * @property {Record<string, number>} [sends] of the calls that Redis counts, which part clients send; scripts call too
 * @property {() => Promise<(how: Opening) => Promise<Opened>>} load rejects where the package does not load
 *
 * @typedef {object} Opening
 * @property {object} options of ioredis
 * @property {string} runId
 * @property {{ retryMs?: number } | undefined} waits undefined: as the library has it; otherwise it never gives up,
 *   and asks every so many ms
 *
 * @typedef {object} Opened
 * @property {(name: string) => (during?: () => Promise<unknown>) => Promise<unknown>} flow locks, does what is to be
 *   done under the lock, and unlocks
 * @property {() => Promise<unknown>} close
 */

const PEERS = [redlock, redlock4, redisSemaphore, redlockUniversal, nodeRedisson]
const EQUAL = [raw, holdfastLock, holdfastUnbatched, holdfastWithLock, holdfastEarly, ...PEERS]
const DEFAULT = [
  holdfastDefault,
  redlockDefault,
  redlock4Default,
  redisSemaphoreDefault,
  redlockUniversalDefault,
  nodeRedissonDefault,
]

/** Contestants are compared within a setting; a bar says where it takes the best of all. */
export const SETTINGS = [
  { id: 'off', title: 'Equal settings, auto-pipelining off', autoPipelining: false, contestants: EQUAL },
  { id: 'on', title: 'Equal settings, auto-pipelining on', autoPipelining: true, contestants: EQUAL },
  { id: 'default', title: 'Defaults, as each README has it', contestants: DEFAULT },
]

/** Holdfast beside itself. */
export const FEATURE_SETTING = { id: 'features', autoPipelining: false, contestants: FEATURES }

const leavesTurn = () => setImmediate()

/** The same contestant, whose work under the lock is this. @returns {Contestant} */
const during = (contestant, work) => ({
  ...contestant,
  async load() {
    const open = await contestant.load()
    return async (how) => {
      const opened = await open(how)
      return {
        ...opened,
        flow(name) {
          const pair = opened.flow(name)
          return () => pair(work)
        },
      }
    }
  },
})

const LINGERING = [holdfastWithLock, holdfastLinger, redisSemaphore, redlock4]

/** Who takes one lock again and again: with nothing to do under it, and with work that leaves the turn. */
export const LINGER_SETTINGS = [
  { id: 'empty', autoPipelining: false, contestants: LINGERING },
  { id: 'turn', autoPipelining: false, contestants: LINGERING.map((each) => during(each, leavesTurn)) },
]

/** @param {string} setting @param {string} name @returns {Contestant} */
export const contestantOf = (setting, name) =>
  [...SETTINGS, FEATURE_SETTING, ...LINGER_SETTINGS]
    .find(({ id }) => id === setting)
    .contestants.find((each) => each.name === name)

/** Where callers wait for one lock. */
export const WAITING = [holdfastWithLock, holdfastFair, ...PEERS]

/** The packages that are compared. */
export const PACKAGES = PEERS.map((each) => each.package)

/** @param {string} name of one that waits @returns {Contestant} */
export const waitingByName = (name) => WAITING.find((each) => each.name === name)
