import { randomBytes } from 'node:crypto'
import { optionsFor } from './connection.mjs'
import { holdfastDefault, holdfastLock, holdfastWithLock } from './contestants/holdfast.mjs'
import { nodeRedisson, nodeRedissonDefault } from './contestants/node-redisson.mjs'
import { raw } from './contestants/raw.mjs'
import { redisSemaphore, redisSemaphoreDefault } from './contestants/redis-semaphore.mjs'
import { redlock, redlockDefault } from './contestants/redlock.mjs'
import { redlockUniversal, redlockUniversalDefault } from './contestants/redlock-universal.mjs'

const EQUAL = [raw, holdfastLock, holdfastWithLock, redlock, redisSemaphore, redlockUniversal, nodeRedisson]
const DEFAULT = [
  holdfastDefault,
  redlockDefault,
  redisSemaphoreDefault,
  redlockUniversalDefault,
  nodeRedissonDefault,
]

/** Contestants are compared within a setting, never across. */
export const SETTINGS = [
  { id: 'off', title: 'Equal settings, auto-pipelining off', autoPipelining: false, contestants: EQUAL },
  { id: 'on', title: 'Equal settings, auto-pipelining on', autoPipelining: true, contestants: EQUAL },
  { id: 'default', title: 'Defaults, as each README has it', contestants: DEFAULT },
]

/**
 * @typedef {object} Cell one contestant in one setting, with its connections open
 * @property {string} setting
 * @property {string} name
 * @property {'raw' | 'holdfast' | 'peer'} kind
 * @property {Record<string, number>} calls what one pair makes Redis do
 * @property {(() => Promise<unknown>)[]} flows each locks and unlocks a lock of its own
 * @property {() => Promise<unknown>} close
 */

/**
 * Opens every contestant in every setting. A peer that does not load on this Node is left out, with the reason.
 *
 * @param {{ url: string, flows: number, only: string[] }} how `only`: texts, one of which is in "setting: name"
 */
export const openCells = async ({ url, flows, only }) => {
  const runId = randomBytes(6).toString('hex')
  /** @type {Cell[]} */
  const cells = []
  /** @type {{ name: string, reason: string }[]} */
  const missing = []
  const close = async () => void (await Promise.allSettled(cells.splice(0).map((cell) => cell.close())))
  try {
    for (const { id, autoPipelining, contestants } of SETTINGS) {
      const options = optionsFor(url, autoPipelining)
      const chosen = ({ name }) => only.some((text) => `${id}: ${name}`.toLowerCase().includes(text))
      for (const contestant of contestants.filter(chosen)) {
        const open = await loadOrReport(contestant, missing)
        if (!open) continue
        const { name, kind, calls } = contestant
        const { flow, close } = await open({ options, runId })
        const names = Array.from({ length: flows }, (_, i) => `bench:${runId}:${id}:${cells.length}:${i}`)
        cells.push({ setting: id, name, kind, calls, flows: names.map(flow), close })
      }
    }
  } catch (error) {
    await close()
    throw error
  }
  return { runId, cells, missing, close }
}

const loadOrReport = async (contestant, missing) => {
  try {
    return await contestant.load()
  } catch (error) {
    if (contestant.kind !== 'peer') throw error
    if (!missing.some((each) => each.name === contestant.package)) {
      missing.push({ name: contestant.package, reason: error.message })
    }
    return undefined
  }
}

/** The packages that are compared. */
export const PACKAGES = [...new Set(EQUAL.map((each) => each.package))]
