import { ErrorReply, OK, syntaxError, type Reply } from '../reply.js'
import { allKeys, command, count, integer, isWithin64Bits, type Command, type Data } from './command.js'
import { endFrom } from './keys.js'

const LONGEST = 512 * 1024 * 1024

interface SetOptions {
  isOnlyNew: boolean
  isOnlyKnown: boolean
  isKeepingEnd: boolean
  isReturningOld: boolean
  /** The word that says in which way, and the time. */
  end: readonly [string, string] | null
}

const TIMES = ['EX', 'PX', 'EXAT', 'PXAT']

function setOptions(words: readonly string[]): SetOptions {
  const options: SetOptions = {
    ...{ isOnlyNew: false, isOnlyKnown: false, isKeepingEnd: false, isReturningOld: false, end: null },
  }
  for (let i = 0; i < words.length; i += 1) {
    const word = (words[i] as string).toUpperCase()
    const value = words[i + 1]
    const isSameWay = !options.end || options.end[0] === word
    if (TIMES.includes(word) && value !== undefined && isSameWay && !options.isKeepingEnd) {
      i += 1
      options.end = [word, value]
    } else if (word === 'NX' && !options.isOnlyKnown) {
      options.isOnlyNew = true
    } else if (word === 'XX' && !options.isOnlyNew) {
      options.isOnlyKnown = true
    } else if (word === 'GET') {
      options.isReturningOld = true
    } else if (word === 'KEEPTTL' && !options.end) {
      options.isKeepingEnd = true
    } else {
      throw syntaxError()
    }
  }
  return options
}

/** Only when all words are known to be right. */
function endIn({ end }: SetOptions, { keyspace }: Data): number | null {
  if (!end) {
    return null
  }
  const [word, time] = end
  const unit = word.startsWith('E') ? 1_000n : 1n
  const now = word.endsWith('AT') ? 0 : keyspace.nowMs
  return endFrom(time, { unit, now, of: 'set', isPositive: true })
}

function set([key = '', value = '', ...words]: readonly string[], data: Data): Reply {
  const { keyspace } = data
  const options = setOptions(words)
  const endsAt = endIn(options, data)
  const before = options.isReturningOld ? (keyspace.string(key) ?? null) : null
  const isRefused = keyspace.has(key) ? options.isOnlyNew : options.isOnlyKnown
  if (!isRefused) {
    keyspace.set(key, value)
    if (!options.isKeepingEnd) {
      keyspace.setEnd(key, endsAt)
    }
  }
  return options.isReturningOld ? before : isRefused ? null : OK
}

function increase({ keyspace }: Data, key: string, by: bigint): Reply {
  const value = integer(keyspace.string(key) ?? '0') + by
  if (!isWithin64Bits(value)) {
    throw new ErrorReply('ERR increment or decrement would overflow')
  }
  keyspace.set(key, String(value))
  return value
}

function setRange([key = '', place, part = '']: readonly string[], { keyspace }: Data): Reply {
  const offset = count(place)
  if (offset < 0) {
    throw new ErrorReply('ERR offset is out of range')
  }
  const before = keyspace.string(key)
  if (part === '') {
    return before?.length ?? 0
  }
  if (offset + part.length > LONGEST) {
    throw new ErrorReply('ERR string exceeds maximum allowed size (proto-max-bulk-len)')
  }
  const text = (before ?? '').padEnd(offset, '\0')
  const value = text.slice(0, offset) + part + text.slice(offset + part.length)
  keyspace.set(key, value)
  return value.length
}

function getRange([key = '', from, to]: readonly string[], { keyspace }: Data): Reply {
  const [first, last] = [count(from), count(to)]
  const text = keyspace.string(key) ?? ''
  const at = (place: number): number => Math.max(0, place < 0 ? place + text.length : place)
  return first < 0 && last < 0 && first > last ? '' : text.slice(at(first), at(last) + 1)
}

const change = { flags: ['write', 'denyoom'] } as const

export const strings: readonly Command[] = [
  command('get', { args: 1 }, ([key = ''], { keyspace }) => keyspace.string(key) ?? null),
  command('getdel', { args: 1, flags: ['write'] }, ([key = ''], { keyspace }) => {
    const value = keyspace.string(key) ?? null
    keyspace.delete(key)
    return value
  }),
  command('mget', { args: [1, Infinity], keys: allKeys }, (keys, { keyspace }) =>
    keys.map((key) => {
      const value = keyspace.get(key)
      return typeof value === 'string' ? value : null
    }),
  ),
  command('set', { args: [2, Infinity], ...change }, set),
  command('setnx', { args: 2, ...change }, ([key = '', value = ''], { keyspace }) => {
    if (keyspace.has(key)) {
      return 0
    }
    keyspace.set(key, value)
    return 1
  }),
  command('setrange', { args: 3, ...change }, setRange),
  command('getrange', { args: 3 }, getRange),
  command('strlen', { args: 1 }, ([key = ''], { keyspace }) => keyspace.string(key)?.length ?? 0),
  command('append', { args: 2, ...change }, ([key = '', part = ''], { keyspace }) => {
    const value = (keyspace.string(key) ?? '') + part
    keyspace.set(key, value)
    return value.length
  }),
  command('incr', { args: 1, ...change }, ([key = ''], data) => increase(data, key, 1n)),
  command('decr', { args: 1, ...change }, ([key = ''], data) => increase(data, key, -1n)),
  command('incrby', { args: 2, ...change }, ([key = '', by], data) => increase(data, key, integer(by))),
  command('decrby', { args: 2, ...change }, ([key = '', by], data) => {
    const amount = integer(by)
    if (!isWithin64Bits(-amount)) {
      throw new ErrorReply('ERR decrement would overflow')
    }
    return increase(data, key, -amount)
  }),
]
