import { seededRandom } from '../../faults/build/harness/seeded-random.js'
import { encodeBatch } from '../../core/build/redis/batch.js'
import { inBatches } from '../../core/build/redis/lua-sources.js'
import { commandFrom, spoiled, SUBSCRIPTIONS } from './commands.mjs'
import { luaFrom } from './lua.mjs'
import { FAMILIES, runOf } from './transitions.mjs'
import { isCalm, wordsFrom } from './words.mjs'
import { DIGESTS, SCRIPTS } from './scripts.mjs'

/**
 * One thing that a program does. `command`: of one of its two connections, of which the second only subscribes.
 * `pauseMs`: it lets short times to live run out. `role`: the server becomes a replica, or a primary again. `user`: what
 * the first connection may do, as an ACL says it; null: everything.
 *
 * @typedef {{ kind: 'command', on: 0 | 1, words: import('./words.mjs').Word[] }} CommandStep
 * @typedef {{ kind: 'pause', pauseMs: number }} PauseStep
 * @typedef {{ kind: 'role', role: 'replica' | 'primary' }} RoleStep
 * @typedef {{ kind: 'user', user: { deniedCommands: string[], keys: string[], channels: string[] } | null }} UserStep
 * @typedef {CommandStep | PauseStep | RoleStep | UserStep} Step
 */

const STEPS = 60
const PAUSE_MS = 12

/** How a program divides its steps: into transitions of one family, commands, and Lua by chance. */
const PROFILES = [
  ...Object.keys(FAMILIES).map((family) => ({ families: [family], transitions: 0.8, lua: 0.02 })),
  { families: ['plain', 'fair'], transitions: 0.8, lua: 0.02 },
  { families: Object.keys(FAMILIES), transitions: 0.4, lua: 0.1 },
  { families: ['plain'], transitions: 0, lua: 0.1 },
  { families: ['plain'], transitions: 0, lua: 0.7 },
]

const command = (words, on = 0) => ({ kind: 'command', on, words })

/** These loop over a count that their caller names, or that a read-write lock has: a large one would keep Redis busy. */
const isCounting = (name) => /^((read|write)-lock|fair-lock\/rename)/.test(name)

const transition = (w, families) => {
  const names = w.pick(families.map((family) => Object.keys(FAMILIES[family])))
  const isBatch = w.chance(0.08)
  const { name, keys, args } = isBatch ? batch(w, names) : single(w, w.pick(names))
  const run = [`${keys.length}`, ...keys, ...args]
  // A word too few, and a time to live would be a count.
  const isSpoiled = w.chance(0.01) && !isCounting(name) && !keys.some((each) => isCalm(each))
  if (isSpoiled) return command(['evalsha', DIGESTS[name], ...spoiled(w, run)])
  return command(w.chance(0.03) ? ['eval', SCRIPTS[name], ...run] : ['evalsha', DIGESTS[name], ...run])
}

const single = (w, name) => {
  const { keys, args } = runOf(name, w)
  const loops = /^(read|write)-lock/.test(name)
  return {
    name,
    keys: w.chance(0.05)
      ? keys.map((each) => (w.chance(0.3) ? (loops ? w.calmKey() : w.wildKey()) : each))
      : keys,
    args: w.chance(0.12) ? (isCounting(name) ? withSmall(w, args) : spoiled(w, args)) : args,
  }
}

/** Scripts that loop over a count get no large one: neither a hostile word, nor a lease in its place because a word is missing. */
const withSmall = (w, args) => {
  const place = w.whole(args.length)
  return args.map((each, i) => (i === place ? w.pick(['', 'abc', '-1', '0', '1', '2', '1.5', '\xff']) : each))
}

const batch = (w, names) => {
  const possible = names.filter((name) => inBatches.includes(name))
  if (possible.length === 0) return single(w, w.pick(names))
  const items = Array.from({ length: 1 + w.whole(4) }, () => {
    const { name, keys, args } = single(w, w.pick(possible))
    return { script: { name }, keys, args }
  })
  return { name: 'batch', ...encodeBatch(items) }
}

const subscription = (w) => {
  const name = w.pick(Object.keys(SUBSCRIPTIONS))
  return command([name, ...SUBSCRIPTIONS[name](w)], 1)
}

/** With several troubles at once each release tells of another one first. */
const TROUBLES = [
  (w) => ({ kind: 'role', role: w.pick(['replica', 'primary']) }),
  (w) => command(['config', 'set', 'maxmemory', w.pick(['1', '0'])]),
  (w) => ({
    kind: 'user',
    user: w.pick([
      null,
      { deniedCommands: [w.pick(['get', 'hget', 'publish', 'time', 'zadd'])], keys: ['*'], channels: ['*'] },
      { deniedCommands: [], keys: ['L:*', 'D:*', 'N:*', '?l:*'], channels: ['in:*'] },
    ]),
  }),
]

/**
 * The program of this number: the same for the same seed.
 *
 * @param {number} seed @param {number} number
 * @returns {Step[]}
 */
export const programOf = (seed, number) => {
  const w = wordsFrom(seededRandom((Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b)) >>> 0))
  const { families, transitions, lua } = w.pick(PROFILES)
  const [trouble, hasPauses, hasMessages] = [
    w.chance(0.2) ? w.pick(TROUBLES) : null,
    w.chance(0.1),
    w.chance(0.4),
  ]
  return Array.from({ length: STEPS }, () => {
    if (trouble && w.chance(0.06)) return trouble(w)
    if (hasPauses && w.chance(0.06)) return { kind: 'pause', pauseMs: PAUSE_MS }
    if (hasMessages && w.chance(0.05)) return subscription(w)
    if (w.chance(transitions)) return transition(w, families)
    if (w.chance(lua)) {
      const text = luaFrom(w)
      const keys = [w.key(), w.key()].slice(0, w.whole(3))
      return command(['eval', text, `${keys.length}`, ...keys, w.text()])
    }
    return command(commandFrom(w))
  })
}
