import { ErrorReply, syntaxError, type Reply } from '../reply.js'
import { command, count, integer, span, type Command, type Data } from './command.js'

function push(name: string, add: (list: string[], values: readonly string[]) => void): Command {
  const run = ([key = '', ...values]: readonly string[], { keyspace }: Data): Reply => {
    const list = keyspace.list(key) ?? []
    add(list, values)
    keyspace.set(key, list)
    return list.length
  }
  return command(name, { args: [2, Infinity], flags: ['write', 'denyoom'] }, run)
}

/** @param take so many from the end that it is of */
function pop(name: string, take: (list: string[], count: number) => readonly string[]): Command {
  return command(name, { args: [1, 2], flags: ['write'] }, ([key = '', most], { keyspace }) => {
    const wanted = most === undefined ? 1 : positive(most)
    const list = keyspace.list(key)
    if (!list) {
      return null
    }
    const taken = take(list, wanted)
    keyspace.deleteIfEmpty(key)
    return most === undefined ? (taken[0] ?? null) : taken
  })
}

function positive(text: string): number {
  const value = integer(text, mustBePositive)
  if (value < 0n) {
    throw mustBePositive()
  }
  return Number(value)
}

const mustBePositive = (): ErrorReply => new ErrorReply('ERR value is out of range, must be positive')

function insert(
  [key = '', where = '', pivot = '', value = '']: readonly string[],
  { keyspace }: Data,
): Reply {
  const side = where.toUpperCase()
  if (side !== 'BEFORE' && side !== 'AFTER') {
    throw syntaxError()
  }
  const list = keyspace.list(key)
  if (!list) {
    return 0
  }
  const place = list.indexOf(pivot)
  if (place < 0) {
    return -1
  }
  list.splice(side === 'BEFORE' ? place : place + 1, 0, value)
  return list.length
}

function remove([key = '', most, value = '']: readonly string[], { keyspace }: Data): Reply {
  const wanted = count(most)
  const list = keyspace.list(key)
  if (!list) {
    return 0
  }
  const places = list.flatMap((each, place) => (each === value ? [place] : []))
  const ordered = wanted < 0 ? places.reverse() : places
  const gone = new Set(wanted === 0 ? ordered : ordered.slice(0, Math.abs(wanted)))
  const kept = list.filter((_, place) => !gone.has(place))
  list.splice(0, list.length, ...kept)
  keyspace.deleteIfEmpty(key)
  return gone.size
}

export const lists: readonly Command[] = [
  push('rpush', (list, values) => list.push(...values)),
  push('lpush', (list, values) => list.unshift(...[...values].reverse())),
  pop('lpop', (list, count) => list.splice(0, count)),
  pop('rpop', (list, count) => list.splice(Math.max(0, list.length - count), count).reverse()),
  command('llen', { args: 1 }, ([key = ''], { keyspace }) => keyspace.list(key)?.length ?? 0),
  command('lindex', { args: 2 }, ([key = '', place], { keyspace }) => {
    // A place is read only where there is a list.
    return keyspace.list(key)?.at(count(place)) ?? null
  }),
  command('lrange', { args: 3 }, ([key = '', from, to], { keyspace }) => {
    const [begin, end] = [count(from), count(to)]
    const list = keyspace.list(key) ?? []
    return list.slice(...span(list.length, begin, end))
  }),
  command('linsert', { args: 4, flags: ['write', 'denyoom'] }, insert),
  command('lrem', { args: 3, flags: ['write'] }, remove),
]
