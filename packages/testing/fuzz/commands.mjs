import { DIGESTS } from './scripts.mjs'
import { isCalm } from './words.mjs'

// Arguments of each command that the engine knows: that are plausible, or nearly so.

/** @typedef {import('./words.mjs').Words} Words */
/** @typedef {import('./words.mjs').Word} Word */

/** @param {Words} w @param {number} least @param {number} most @param {() => Word | Word[]} one @returns {Word[]} */
const some = (w, least, most, one) => Array.from({ length: least + w.whole(most - least + 1) }, one).flat()

/** Upper or lower case, as Redis takes both. */
const word = (w, ...words) => {
  const chosen = w.pick(words)
  return w.chance(0.5) ? chosen.toLowerCase() : chosen
}

/** Beyond 2^53 a script of 7.0 gives it on as `9e+15`, and one of later releases in full. */
const timeFrom = (w) => w.number().replace('9007199254740993', '9007199254')

/** How long, in ms: long, over, or so short that a pause ends it. */
const lasting = (w) => {
  if (w.chance(0.15)) return String(w.pick([1, 2, 3, 4, 5]))
  return w.chance(0.2) ? timeFrom(w) : w.longMs()
}
const lastingSeconds = (w) => (w.chance(0.3) ? timeFrom(w) : String(w.pick([10, 60, 3_600])))
const moment = (w, unit) =>
  w.chance(0.2) ? timeFrom(w) : w.chance(0.1) ? { fromNow: -5_000, unit } : w.moment(unit)

const conditions = (w) => (w.chance(0.4) ? some(w, 1, 2, () => word(w, 'NX', 'XX', 'GT', 'LT', 'CH')) : [])

const fieldValue = (w, key) => (isCalm(key) ? String(w.whole(4)) : w.chance(0.5) ? w.number() : w.text())

const pairs = (w, key) => some(w, 1, 3, () => [w.field(), fieldValue(w, key)])

const setWords = (w) =>
  some(w, 0, 3, () => {
    const chosen = word(w, 'NX', 'XX', 'KEEPTTL', 'GET', 'PX', 'EX', 'PXAT', 'EXAT', 'NO')
    switch (chosen.toUpperCase()) {
      case 'PX':
        return [chosen, lasting(w)]
      case 'EX':
        return [chosen, lastingSeconds(w)]
      case 'PXAT':
        return [chosen, moment(w, 'ms')]
      case 'EXAT':
        return [chosen, moment(w, 's')]
      default:
        return [chosen]
    }
  })

/** Without a blank in front, which 7.0 takes and later releases do not. */
const bound = (w) =>
  w.chance(0.3) ? w.pick(['-inf', '+inf', '(1', '(0', '(', '(-inf']) : w.score().trimStart()

const rangeWords = (w) =>
  some(w, 0, 3, () => {
    const chosen = word(w, 'WITHSCORES', 'LIMIT', 'BYSCORE', 'REV', 'NO')
    return chosen.toUpperCase() === 'LIMIT' ? [chosen, w.place(), w.place()] : [chosen]
  })

const scanWords = (w) =>
  some(w, 0, 2, () => {
    const chosen = word(w, 'MATCH', 'TYPE', 'COUNT', 'NO')
    const value = {
      MATCH: w.pick(['*', 'L:*', '?:x', 'k*']),
      TYPE: w.pick(['hash', 'string', 'zset', 'list']),
    }
    return [chosen, value[chosen.toUpperCase()] ?? w.pick(['1000', '0', 'x'])]
  })

const PATTERNS = [
  ...'* ch:* ?h:x in:h~[ab] [^c]* ch:[a-y] ch\\:x news'.split(' '),
  ...['', '[', 'n[', '[]', '**x', 'L:[x-a]'],
]
const pattern = (w) => w.pick(PATTERNS)

const expiring = (how) => (w) => [
  w.key(),
  how(w),
  ...(w.chance(0.4) ? some(w, 1, 2, () => word(w, 'NX', 'XX', 'GT', 'LT', 'NO')) : []),
]
const key = (w) => [w.key()]
const keys = (w) => some(w, 1, 3, w.key)
const between = (w) => [w.key(), w.place(), w.place(), ...(w.chance(0.5) ? rangeWords(w) : [])]
const byScore = (w) => [w.key(), bound(w), bound(w), ...(w.chance(0.5) ? rangeWords(w) : [])]
const count = (w) => (w.chance(0.2) ? w.number() : w.place())
const fields = (w) => {
  const name = w.key()
  return [name, ...pairs(w, name), ...(w.chance(0.05) ? ['odd'] : [])]
}
const pushed = (w) => [w.key(), ...some(w, 1, 3, w.text)]
const popped = (w) => [w.key(), ...(w.chance(0.3) ? [count(w)] : [])]

/** Commands whose arguments are alike. */
const alike = (names, args) => Object.fromEntries(names.split(' ').map((name) => [name, args]))

/** Half a moment, as notes and tokens have them, could not be told from a count. */
const timelessKey = (w) => w.key().replace(/^[KN]:/, 'k:')

/** @type {Record<string, (w: Words) => Word[]>} */
const ON_KEYS = {
  ...alike('get getdel strlen incr decr llen hlen hkeys hvals', key),
  ...alike('hgetall zcard type persist ttl pttl pexpiretime', key),
  ...alike('mget del unlink exists', keys),
  ...alike('zrange zrevrange', between),
  ...alike('zrangebyscore zrevrangebyscore', byScore),
  set: (w) => [w.key(), w.chance(0.3) ? w.number() : w.text(), ...setWords(w)],
  setnx: (w) => [w.key(), w.number()],
  setrange: (w) => [timelessKey(w), w.chance(0.2) ? w.hostileNumber() : w.count(), w.text()],
  getrange: (w) => [timelessKey(w), count(w), count(w)],
  append: (w) => [w.key(), w.text()],
  incrby: (w) => [w.key(), w.number()],
  decrby: (w) => [w.key(), w.number()],
  ...alike('hset hmset', fields),
  hsetnx: (w) => {
    const name = w.key()
    return [name, w.field(), fieldValue(w, name)]
  },
  hincrby: (w) => {
    const name = w.key()
    return [name, w.field(), isCalm(name) ? w.place() : w.number()]
  },
  hdel: (w) => [w.key(), ...some(w, 1, 3, w.field)],
  hget: (w) => [w.key(), w.field()],
  hmget: (w) => [w.key(), ...some(w, 1, 3, w.field)],
  hexists: (w) => [w.key(), w.field()],
  ...alike('rpush lpush', pushed),
  ...alike('lpop rpop', popped),
  lindex: (w) => [w.key(), count(w)],
  lrange: (w) => [w.key(), count(w), count(w)],
  linsert: (w) => [w.key(), word(w, 'BEFORE', 'AFTER', 'NO'), w.text(), w.text()],
  // The least of all integers later releases refuse.
  lrem: (w) => [w.key(), count(w).replace(/^-9223372036854775808$/, '-1'), w.text()],
  zadd: (w) => [
    w.key(),
    ...conditions(w),
    ...(w.chance(0.1) ? ['INCR'] : []),
    ...some(w, 1, 3, () => [w.score(), w.field()]),
  ],
  zincrby: (w) => [w.key(), w.score(), w.field()],
  zscore: (w) => [w.key(), w.field()],
  zrank: (w) => [w.key(), w.field()],
  zcount: (w) => [w.key(), bound(w), bound(w)],
  zrem: (w) => [w.key(), ...some(w, 1, 3, w.field)],
  zremrangebyscore: (w) => [w.key(), bound(w), bound(w)],
  zremrangebyrank: (w) => [w.key(), count(w), count(w)],
  expire: expiring(lastingSeconds),
  pexpire: expiring(lasting),
  expireat: expiring((w) => moment(w, 's')),
  pexpireat: expiring((w) => moment(w, 'ms')),
  rename: (w) => (w.chance(0.5) ? [w.calmKey(), w.calmKey()] : [w.wildKey(), w.wildKey()]),
}

/** @type {Record<string, (w: Words) => Word[]>} */
const ON_THE_SERVER = {
  keys: (w) => [w.chance(0.7) ? '*' : pattern(w)],
  // All keys in one answer: by which cursor a server goes on is its own affair.
  scan: (w) => ['0', ...scanWords(w), 'COUNT', '1000'],
  dbsize: () => [],
  publish: (w) => [w.channel(), w.text()],
  spublish: (w) => [w.channel(), w.text()],
  pubsub: (w) => {
    const what = word(w, 'NUMSUB', 'SHARDNUMSUB', 'CHANNELS', 'SHARDCHANNELS', 'NUMPAT', 'NO')
    if (/numsub/i.test(what)) return [what, ...some(w, 0, 3, w.channel)]
    return /channels/i.test(what) && w.chance(0.5) ? [what, pattern(w)] : [what]
  },
  ping: (w) => some(w, 0, 1, w.text),
  echo: (w) => [w.text()],
  time: () => [],
  info: (w) => [w.pick(['server', 'memory', 'replication', 'persistence', 'nothing'])],
  config: (w) =>
    w.pick([
      ['GET', 'maxmemory'],
      ['get', 'maxmemory-policy', 'maxmemory'],
      // Not too little: programs do that when they mean to.
      ['SET', 'maxmemory', w.pick(['0', '100mb', '1gb', 'x', '-1'])],
      // Another one would evict.
      ['SET', 'maxmemory-policy', w.pick(['noeviction', 'NoEviction', 'none'])],
      ['SET', 'no-such-thing', '1'],
      ['SET', 'maxmemory'],
      ['NO'],
    ]),
  flushall: (w) => some(w, 0, 1, () => word(w, 'SYNC', 'ASYNC', 'NO')),
  flushdb: (w) => some(w, 0, 1, () => word(w, 'SYNC', 'ASYNC', 'NO')),
  select: (w) => [w.pick(['0', '0', '99', '-1', 'x', ''])],
  // Waiting for no replica returns at once. A time to wait of 0 would be without end.
  wait: () => ['0', '1'],
  script: (w) =>
    w.pick([
      ['LOAD', `return ${w.whole(3)}`],
      ['LOAD', 'return )'],
      // Later releases forget what was sent with EVAL, and not what was loaded.
      ['EXISTS', DIGESTS['lock/acquire'], 'x'],
      ['EXISTS'],
      ['FLUSH', 'NO'],
      ['NO'],
    ]),
  client: (w) =>
    w.pick([
      ['SETNAME', w.pick(['a', 'a b', ''])],
      ['GETNAME'],
      // Not SETINFO: since 7.2. The engine takes it, because clients send it.
      ['NO'],
    ]),
  reset: () => [],
}

/** Commands of a connection that subscribes. */
const SUBSCRIBING = {
  subscribe: (w) => some(w, 1, 2, w.channel),
  ssubscribe: (w) => [w.channel()],
  psubscribe: (w) => some(w, 1, 2, () => pattern(w)),
  unsubscribe: (w) => some(w, 0, 2, w.channel),
  sunsubscribe: (w) => some(w, 0, 1, w.channel),
  punsubscribe: (w) => some(w, 0, 2, () => pattern(w)),
}

/** Commands that `lua.mjs` and `program.mjs` make: the scripts. */
export const RUN_SCRIPTS = ['eval', 'evalsha']

export const COMMANDS = { ...ON_KEYS, ...ON_THE_SERVER }
const NAMES_ON_KEYS = Object.keys(ON_KEYS)
const NAMES_ON_SERVER = Object.keys(ON_THE_SERVER)
export const SUBSCRIPTIONS = SUBSCRIBING
const UNKNOWN = ['nothing', 'getx', '', 'get ', 'multi2', '\xff']

/** One word more or less, or another one. @param {Words} w @param {Word[]} args @param {() => Word} [other] */
export const spoiled = (w, args, other = w.hostile) => {
  const place = w.whole(args.length + 1)
  const before = args.slice(0, place)
  return w.pick([
    [...before, ...args.slice(place + 1)],
    [...before, other(), ...args.slice(place)],
    ...Array.from({ length: 4 }, () =>
      place < args.length ? [...before, other(), ...args.slice(place + 1)] : args,
    ),
  ])
}

/** These take no hostile words, because with some their effect lasts, or is not the same on each server. */
const NOT_SPOILED = 'lrem zrank config client wait script scan info flushall flushdb'.split(' ')

/** @param {Words} w @returns {Word[]} a command with its arguments */
export const commandFrom = (w) => {
  if (w.chance(0.005)) return [w.pick(UNKNOWN), ...some(w, 0, 3, w.text)]
  const name = w.pick(w.chance(0.9) ? NAMES_ON_KEYS : NAMES_ON_SERVER)
  const args = COMMANDS[name](w)
  const isSpoiled = w.chance(0.04) && !NOT_SPOILED.includes(name) && !isCalm(args[0])
  return [w.chance(0.1) ? name.toUpperCase() : name, ...(isSpoiled ? spoiled(w, args) : args)]
}

/** Commands that scripts may or may not call, with an answer in order. Not WAIT: since 7.2 they may. */
const FROM_SCRIPTS = ['publish', 'spublish', 'ping', 'echo', 'reset', 'select', 'subscribe']

/** A command for a script to run. @param {Words} w @returns {Word[]} */
export const commandForScript = (w) => {
  if (w.chance(0.01)) return [w.pick(UNKNOWN)]
  const name = w.pick(w.chance(0.9) ? NAMES_ON_KEYS : FROM_SCRIPTS)
  const args = (COMMANDS[name] ?? SUBSCRIBING[name])(w)
  return [
    name,
    ...(w.chance(0.03) && !NOT_SPOILED.includes(name) && !isCalm(args[0]) ? spoiled(w, args) : args),
  ]
}
