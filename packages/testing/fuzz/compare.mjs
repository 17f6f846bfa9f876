import { DIGESTS, SCRIPTS } from './scripts.mjs'

/** @typedef {import('./connection.mjs').Reply} Reply */

/** The clock of the engine is that of the server right before a command; it goes on while the command runs. */
const CLOSE_MS = 5
/** Since 2001, and until 2286. Moments in us have more; no count has as many. */
const DIGITS_OF_MS = 13
/** A time to live is longer than this, a count is not. */
const LEAST_TIME = 100

const DIGEST = /^[0-9a-f]{40}$/

/** How far from each other two moments may be, or undefined: these are none. */
const toleranceOf = (digits) =>
  digits.length < DIGITS_OF_MS ? undefined : CLOSE_MS * 10 ** (digits.length - DIGITS_OF_MS)

/** Texts are alike but for moments that are close; a digest differs where a moment in the same text does. */
const areCloseTexts = (one, other) => {
  const [left, right] = [one, other].map((text) => text.replace(/[0-9a-f]{40}|\d+/g, '#'))
  if (left !== right) return false
  const [ours, theirs] = [one, other].map((text) => text.match(/[0-9a-f]{40}|\d+/g) ?? [])
  let isMoved = false
  const others = ours.flatMap((digits, i) => (digits === theirs[i] ? [] : [[digits, theirs[i]]]))
  for (const [digits, their] of others.filter(([digits]) => !DIGEST.test(digits))) {
    const tolerance = toleranceOf(digits)
    if (tolerance === undefined || Math.abs(Number(digits) - Number(their)) > tolerance) return false
    isMoved = true
  }
  return isMoved
}

const parsed = (text) => {
  if (!/^[{[]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** cjson writes the fields of an object in an order of its own. */
const areAlikeJson = (one, other) => {
  if (typeof one === 'string' && typeof other === 'string') return areAlikeTexts(one, other)
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && areAlikeJson(one[name], other[name]))
  )
}

/** JavaScript has one NaN, C two. */
const areAlikeTexts = (one, other) => {
  if (
    one === other ||
    one.replace('-nan', 'nan') === other.replace('-nan', 'nan') ||
    areCloseTexts(one, other)
  )
    return true
  const [left, right] = [parsed(one), parsed(other)]
  return left !== undefined && right !== undefined && areAlikeJson(left, right)
}

const areCloseNumbers = (one, other) => {
  const [left, right] = [Number(one), Number(other)]
  if (Math.abs(left) < LEAST_TIME || Math.abs(right) < LEAST_TIME) return false
  return Math.abs(left - right) <= (toleranceOf(String(Math.abs(left))) ?? CLOSE_MS)
}

/** @param {Reply} one @param {Reply} other @param {import('./releases.mjs').Release} release */
const areAlike = (one, other, release) => {
  if (typeof one === 'string' && typeof other === 'string') {
    return areAlikeTexts(one, other) || release.areSameTexts(one, other)
  }
  if (typeof one === 'bigint' && typeof other === 'bigint')
    return one === other || areCloseNumbers(one, other)
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((each, i) => areAlike(each, other[i], release))
  }
  if (one === null || other === null || typeof one !== 'object' || typeof other !== 'object')
    return one === other
  if ('error' in one && 'error' in other) return release.areSameErrors(one.error, other.error)
  return 'status' in one && 'status' in other && one.status === other.status
}

const sortKey = (reply) => JSON.stringify(reply, asText).replaceAll('-nan', 'nan')
const sorted = (reply) =>
  Array.isArray(reply) ? [...reply].sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1)) : reply
const asText = (_, value) => (typeof value === 'bigint' ? String(value) : value)

/** Replies in no order, or of one server alone. @type {Record<string, (reply: any, words: string[]) => any>} */
const NORMAL = {
  keys: sorted,
  scan: (reply) => (Array.isArray(reply) ? [reply[0], sorted(reply[1])] : reply),
  pubsub: (reply, [what]) => (/channels/i.test(what) ? sorted(reply) : reply),
  config: (reply, [what]) => (/get/i.test(what) && Array.isArray(reply) ? sorted(reply) : reply),
  time: () => 'now',
  // It counts what has ended, too, until Redis comes by.
  dbsize: (reply) => typeof reply,
  ttl: (reply) => (typeof reply === 'bigint' && reply > 0n ? reply / 2n : reply),
  // A part of what a real one says.
  info: (reply) => (typeof reply === 'string' ? '' : reply),
}

const BEGIN = [DIGESTS['schedule/begin'], SCRIPTS['schedule/begin']]

const normal = (reply, step) => {
  if (step.kind !== 'command') return reply
  const [name, ...words] = step.words.map(String)
  // Which of all channels is left first.
  if (/^[ps]?unsubscribe$/i.test(name) && words.length === 0)
    return sorted(reply.map(([, channel]) => channel))
  // Lua's tables tell what they have in an order of their own, here the ticks that nobody ran.
  if (BEGIN.includes(words[0]) && Array.isArray(reply)) return [...reply.slice(0, 2), sorted(reply.slice(2))]
  return NORMAL[name.toLowerCase()]?.(reply, words) ?? reply
}

const keysOf = ({ keys }) =>
  [...keys].map(([name, [type, content, endsAt]]) => ({
    name,
    reply: [type, type === 'hash' ? sorted(pairsOf(content)) : content, BigInt(endsAt)],
  }))

const pairsOf = (list) => list.flatMap((each, i) => (i % 2 === 0 ? [[each, list[i + 1]]] : []))

/**
 * The first thing that is not the same; null: nothing.
 *
 * @param {import('./program.mjs').Step[]} steps
 * @param {import('./real-side.mjs').Transcript} engine
 * @param {import('./real-side.mjs').Transcript} real
 * @param {import('./releases.mjs').Release} release
 * @returns {{ where: string, engine: unknown, real: unknown } | null}
 */
export const difference = (steps, engine, real, release) => {
  const alike = (one, other) => areAlike(one, other, release)
  for (const [i, step] of steps.entries()) {
    const [ours, theirs] = [engine, real].map(({ replies }) => normal(replies[i], step))
    if (!alike(ours, theirs))
      return { where: `step ${i + 1}`, engine: engine.replies[i], real: real.replies[i] }
  }
  for (const [i, who] of ['everybody', 'the second connection'].entries()) {
    const [ours, theirs] = [engine.messages[i], real.messages[i]]
    if (!alike(ours, theirs)) return { where: `messages to ${who}`, engine: ours, real: theirs }
  }
  const theirs = new Map(keysOf(real).map(({ name, reply }) => [name, reply]))
  for (const { name, reply } of keysOf(engine)) {
    if (!alike(reply, theirs.get(name) ?? null)) {
      return { where: `key ${name} in the end`, engine: reply, real: theirs.get(name) ?? null }
    }
    theirs.delete(name)
  }
  const [more] = theirs
  return more ? { where: `key ${more[0]} in the end`, engine: null, real: more[1] } : null
}
