import * as crash from './crash.mjs'
import * as longWork from './long-work.mjs'
import * as outage from './outage.mjs'
import * as sale from './sale.mjs'
import * as schedule from './schedule.mjs'
import { bold, faint } from './terminal.mjs'
import { nowMs } from './time.mjs'
import * as tree from './tree.mjs'

/**
 * @typedef {object} Stage what an act plays on
 * @property {import('./crew.mjs').Crew} crew
 * @property {import('ioredis').Redis} redis
 * @property {string} prefix of every key of this run
 * @property {(line: string) => void} say
 *
 * @typedef {{ claim: string, expected: string, seen: string, ok: boolean, isFigure?: boolean }} Claim `isFigure`: it is
 *   about how long something takes
 */

const ACTS = [sale, tree, crash, longWork, schedule, outage]

/**
 * Plays all acts. One that throws is a claim that failed, and the next one goes on.
 *
 * @param {Omit<Stage, 'say'> & { print: (line?: string) => void }} stage
 */
export const perform = async ({ print, ...stage }) => {
  const startedAt = nowMs()
  const say = (line) =>
    print(`  ${faint(`${((nowMs() - startedAt) / 1_000).toFixed(1)} s`.padStart(6))}  ${line}`)
  /** @type {Claim[]} */
  const claims = []
  const panels = []
  for (const [index, { title, play }] of ACTS.entries()) {
    print()
    print(bold(`${'abcdef'[index]}  ${title}`))
    try {
      const act = await play({ ...stage, say })
      claims.push(...act.claims)
      if (act.panel) panels.push(act.panel)
    } catch (error) {
      say(error.message)
      claims.push({ claim: title, expected: 'runs to its end', seen: error.message, ok: false })
    }
  }
  return { claims, panels, tookMs: nowMs() - startedAt }
}

/**
 * Deletes every key of this run. A process that was killed may leave a command on its way: until nothing is
 * found. What comes later still expires by itself.
 *
 * @param {import('ioredis').Redis} redis
 * @param {string} prefix
 */
export const sweep = async (redis, prefix) => {
  for (let found = true; found;) {
    found = false
    let cursor = '0'
    do {
      // Before the prefix stands what the lock puts there itself, as in redisson_lock__channel:{...}.
      const [next, keys] = await redis.scan(cursor, 'MATCH', `*${prefix}:*`, 'COUNT', 1_000)
      if (keys.length > 0) await redis.del(...keys)
      found ||= keys.length > 0
      cursor = next
    } while (cursor !== '0')
  }
}
