import { ErrorReply, Status, type Reply } from '../engine/reply.js'

export type Protocol = 2 | 3

/** A reply as RESP, with a character for each byte. */
export function written(reply: Reply, protocol: Protocol): string {
  if (typeof reply === 'string') {
    return bulk(reply)
  }
  if (typeof reply === 'number' || typeof reply === 'bigint') {
    return `:${reply}\r\n`
  }
  if (reply === null) {
    return protocol === 3 ? '_\r\n' : '$-1\r\n'
  }
  if (reply instanceof Status) {
    return `+${reply.text}\r\n`
  }
  return reply instanceof ErrorReply ? `-${reply.message}\r\n` : list('*', reply, protocol)
}

/** A push, which Redis sends without being asked. RESP2 has no word of its own for it. */
export function pushed(message: readonly Reply[], protocol: Protocol): string {
  return list(protocol === 3 ? '>' : '*', message, protocol)
}

/** Names and values by turns. RESP2 has them as a list. */
export function map(pairs: readonly Reply[], protocol: Protocol): string {
  return protocol === 3 ? `%${pairs.length / 2}\r\n${values(pairs, protocol)}` : list('*', pairs, protocol)
}

type InProtocol3 = (reply: Reply, args: readonly string[]) => string | null

const asMap: InProtocol3 = (reply) => (isList(reply) ? map(reply, 3) : null)
const asDouble: InProtocol3 = (reply) => (typeof reply === 'string' ? `,${reply}\r\n` : null)
const withScores: InProtocol3 = (reply, args) => {
  if (!isList(reply) || !args.some((word) => word.toLowerCase() === 'withscores')) {
    return null
  }
  const texts = reply as readonly string[]
  const pairs = texts.flatMap((member, i) =>
    i % 2 === 0 ? [`${bulk(member)},${texts[i + 1] ?? ''}\r\n`] : [],
  )
  return `*${pairs.length}\r\n${pairs.map((pair) => `*2\r\n${pair}`).join('')}`
}

/** Commands whose replies have another shape in RESP3; null: it has not, this time. */
const IN_PROTOCOL_3: Readonly<Record<string, InProtocol3>> = {
  ...{ hgetall: asMap, zscore: asDouble, zincrby: asDouble, zadd: asDouble },
  ...{ zrange: withScores, zrevrange: withScores, zrangebyscore: withScores, zrevrangebyscore: withScores },
  config: (reply, args) => (args[0]?.toLowerCase() === 'get' ? asMap(reply, args) : null),
}

/** The reply to a command. */
export function writtenReply(
  reply: Reply,
  [name = '', ...args]: readonly string[],
  protocol: Protocol,
): string {
  const special = protocol === 3 ? IN_PROTOCOL_3[name.toLowerCase()]?.(reply, args) : null
  return special ?? written(reply, protocol)
}

function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`
}

function list(sign: string, replies: readonly Reply[], protocol: Protocol): string {
  return `${sign}${replies.length}\r\n${values(replies, protocol)}`
}

function values(replies: readonly Reply[], protocol: Protocol): string {
  return replies.map((each) => written(each, protocol)).join('')
}

function isList(reply: Reply): reply is readonly Reply[] {
  return Array.isArray(reply)
}
