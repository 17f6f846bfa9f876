import { glob, type Glob } from '../glob.js'
import { typeNameOf } from '../keyspace.js'
import { ErrorReply, OK, Status, syntaxError, type Reply } from '../reply.js'
import { allKeys, command, count, integer, noKeys, type Command, type Data } from './command.js'

interface EndRule {
  /** In ms. */
  readonly unit: bigint
  /** The moment from which the time counts, ms since 1970; 0: it is absolute. */
  readonly now: number
  readonly of: string
  /** Whether 0 and less are refused. */
  readonly isPositive?: boolean
}

/** When a key ends, of an argument. @throws ErrorReply */
export function endFrom(text: string | undefined, { unit, now, of, isPositive = false }: EndRule): number {
  const time = integer(text)
  const at = time * unit + BigInt(now)
  if ((isPositive && time <= 0n) || at > 2n ** 63n - 1n || at < -(2n ** 63n)) {
    throw new ErrorReply(`ERR invalid expire time in '${of}' command`)
  }
  return Number(at)
}

function checkConditions(words: readonly string[]): Set<string> {
  const wanted = new Set(words.map((word) => word.toUpperCase()))
  for (const word of words) {
    if (!['NX', 'XX', 'GT', 'LT'].includes(word.toUpperCase())) {
      throw new ErrorReply(`ERR Unsupported option ${word.split('\0', 1)[0] ?? ''}`)
    }
  }
  if (wanted.has('NX') && wanted.size > 1) {
    throw new ErrorReply('ERR NX and XX, GT or LT options at the same time are not compatible')
  }
  if (wanted.has('GT') && wanted.has('LT')) {
    throw new ErrorReply('ERR GT and LT options at the same time are not compatible')
  }
  return wanted
}

function isRefused(wanted: ReadonlySet<string>, before: number | null, endsAt: number): boolean {
  // A key without an end counts as one that ends never.
  return (
    (wanted.has('NX') && before !== null) ||
    (wanted.has('XX') && before === null) ||
    (wanted.has('GT') && (before === null || endsAt <= before)) ||
    (wanted.has('LT') && before !== null && endsAt >= before)
  )
}

function expire(name: string, unit: bigint, isAbsolute: boolean): Command {
  const run = ([key = '', time, ...words]: readonly string[], { keyspace }: Data): Reply => {
    const wanted = checkConditions(words)
    const endsAt = endFrom(time, { unit, now: isAbsolute ? 0 : keyspace.nowMs, of: name })
    const before = keyspace.endOf(key)
    if (before === undefined || isRefused(wanted, before, endsAt)) {
      return 0
    }
    if (endsAt <= keyspace.nowMs) {
      keyspace.delete(key)
    } else {
      keyspace.setEnd(key, endsAt)
    }
    return 1
  }
  return command(name, { args: [2, Infinity], flags: ['write'] }, run)
}

function left({ keyspace }: Data, key: string, unit: number): number {
  const endsAt = keyspace.endOf(key)
  if (endsAt === undefined) {
    return -2
  }
  const leftMs = endsAt === null ? -1 : Math.max(endsAt - keyspace.nowMs, 0)
  return endsAt === null ? -1 : unit === 1 ? leftMs : Math.floor((leftMs + 500) / 1_000)
}

/** `*` is not matched at all: it is every key, the empty one, too. */
function keyGlob(pattern: string): Glob {
  return pattern === '*' ? { test: () => true } : glob(pattern)
}

function scan([cursor = '', ...words]: readonly string[], { keyspace }: Data): Reply {
  if (!/^\d+$/.test(cursor)) {
    throw new ErrorReply('ERR invalid cursor')
  }
  let [pattern, most, type] = ['*', 10, '']
  for (let i = 0; i < words.length; i += 2) {
    const [word = '', value] = words.slice(i, i + 2)
    if (value === undefined) {
      throw syntaxError()
    }
    switch (word.toUpperCase()) {
      case 'MATCH':
        pattern = value
        break
      case 'COUNT':
        most = count(value)
        if (most < 1) {
          throw syntaxError()
        }
        break
      case 'TYPE':
        type = value.toLowerCase()
        break
      default:
        throw syntaxError()
    }
  }
  const { keys, last } = keyspace.after(Number(cursor), most)
  const matches = keyGlob(pattern)
  const isWanted = (key: string): boolean =>
    matches.test(key) && (type === '' || typeNameOf(keyspace.get(key)) === type)
  return [String(last), keys.filter(isWanted)]
}

const some = { args: [1, Infinity], keys: allKeys } as const

function deleted(keys: readonly string[], { keyspace }: Data): number {
  return keys.filter((key) => keyspace.delete(key)).length
}

function rename([from = '', to = '']: readonly string[], { keyspace }: Data): Reply {
  const value = keyspace.get(from)
  if (value === undefined) {
    throw new ErrorReply('ERR no such key')
  }
  const endsAt = keyspace.endOf(from) ?? null
  keyspace.delete(from)
  keyspace.delete(to)
  keyspace.set(to, value)
  keyspace.setEnd(to, endsAt)
  return OK
}

export const keys: readonly Command[] = [
  command('del', { ...some, flags: ['write'] }, deleted),
  command('unlink', { ...some, flags: ['write'] }, deleted),
  command('exists', some, (names, { keyspace }) => names.filter((key) => keyspace.has(key)).length),
  command('type', { args: 1 }, ([key = ''], { keyspace }) => new Status(typeNameOf(keyspace.get(key)))),
  command('keys', { args: 1, keys: noKeys }, ([pattern = ''], { keyspace }) => {
    const matches = keyGlob(pattern)
    return keyspace.keys().filter((key) => matches.test(key))
  }),
  command('scan', { args: [1, Infinity], keys: noKeys }, scan),
  command('dbsize', { args: 0, keys: noKeys }, (_, { keyspace }) => keyspace.keys().length),
  expire('expire', 1_000n, false),
  expire('pexpire', 1n, false),
  expire('expireat', 1_000n, true),
  expire('pexpireat', 1n, true),
  command('persist', { args: 1, flags: ['write'] }, ([key = ''], { keyspace }) => {
    const endsAt = keyspace.endOf(key)
    keyspace.setEnd(key, null)
    return endsAt == null ? 0 : 1
  }),
  command('ttl', { args: 1 }, ([key = ''], data) => left(data, key, 1_000)),
  command('pttl', { args: 1 }, ([key = ''], data) => left(data, key, 1)),
  command('pexpiretime', { args: 1 }, ([key = ''], { keyspace }) => {
    const endsAt = keyspace.endOf(key)
    // The last moment, as a number of JavaScript, is one more.
    return endsAt === undefined ? -2 : endsAt === 2 ** 63 ? 2n ** 63n - 1n : (endsAt ?? -1)
  }),
  command('rename', { args: 2, flags: ['write'], keys: allKeys }, rename),
]
