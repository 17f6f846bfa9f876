import { ErrorReply, OK, wrongCount, type Reply } from '../reply.js'
import type { Hash } from '../keyspace.js'
import { command, integer, isWithin64Bits, type Command, type Data } from './command.js'

const EMPTY: ReadonlyMap<string, string> = new Map()

function read(key: string, { keyspace }: Data): ReadonlyMap<string, string> {
  return keyspace.hash(key) ?? EMPTY
}

function written(key: string, { keyspace }: Data): Hash {
  const known = keyspace.hash(key)
  if (known) {
    return known
  }
  const made: Hash = new Map()
  keyspace.set(key, made)
  return made
}

function setter(name: string): (args: readonly string[], data: Data) => number {
  return ([key = '', ...pairs], data) => {
    if (pairs.length % 2 === 1) {
      throw wrongCount(name)
    }
    const hash = written(key, data)
    const before = hash.size
    for (let i = 0; i < pairs.length; i += 2) {
      hash.set(pairs[i] as string, pairs[i + 1] as string)
    }
    return hash.size - before
  }
}

function increase([key = '', field = '', by]: readonly string[], data: Data): Reply {
  const amount = integer(by)
  const before = read(key, data).get(field) ?? '0'
  let value: bigint
  try {
    value = integer(before) + amount
  } catch {
    throw new ErrorReply('ERR hash value is not an integer')
  }
  if (!isWithin64Bits(value)) {
    throw new ErrorReply('ERR increment or decrement would overflow')
  }
  written(key, data).set(field, String(value))
  return value
}

const change = { flags: ['write', 'denyoom'] } as const
const hset = setter('hset')
const hmset = setter('hmset')

export const hashes: readonly Command[] = [
  command('hset', { args: [3, Infinity], ...change }, hset),
  command('hmset', { args: [3, Infinity], ...change }, (args, data) => {
    hmset(args, data)
    return OK
  }),
  command('hsetnx', { args: 3, ...change }, ([key = '', field = '', value = ''], data) => {
    if (read(key, data).has(field)) {
      return 0
    }
    written(key, data).set(field, value)
    return 1
  }),
  command('hincrby', { args: 3, ...change }, increase),
  command('hdel', { args: [2, Infinity], flags: ['write'] }, ([key = '', ...fields], { keyspace }) => {
    const hash = keyspace.hash(key)
    const gone = fields.filter((field) => hash?.delete(field)).length
    keyspace.deleteIfEmpty(key)
    return gone
  }),
  command('hget', { args: 2 }, ([key = '', field = ''], data) => read(key, data).get(field) ?? null),
  command('hmget', { args: [2, Infinity] }, ([key = '', ...fields], data) => {
    const hash = read(key, data)
    return fields.map((field) => hash.get(field) ?? null)
  }),
  command('hexists', { args: 2 }, ([key = '', field = ''], data) => (read(key, data).has(field) ? 1 : 0)),
  command('hlen', { args: 1 }, ([key = ''], data) => read(key, data).size),
  command('hkeys', { args: 1 }, ([key = ''], data) => [...read(key, data).keys()]),
  command('hvals', { args: 1 }, ([key = ''], data) => [...read(key, data).values()]),
  command('hgetall', { args: 1 }, ([key = ''], data) => [...read(key, data)].flat()),
]
