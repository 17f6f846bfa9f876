import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from './connection.mjs'
import { textOf } from './words.mjs'
import { DIGESTS, SCRIPTS } from './scripts.mjs'

/** @typedef {import('./connection.mjs').Reply} Reply */

/**
 * What a program saw. `replies`: of each step, null where it has none; of a subscription the list of confirmations.
 * `times`: of each step, when the server ran it, ms since 1970 with fractions. `messages`: of who hears everything, and of
 * the connection that subscribes: channel and payload, in order. `keys`: of each key its type, its content, and when it
 * ends, ms since 1970, -1 for never.
 *
 * `endedAt`: when the keys were read.
 *
 * @typedef {{ replies: (Reply | null)[], times: number[], endedAt: number, messages: string[][][], keys: Map<string, [string, Reply, number]> }} Transcript
 */

/** Channels that both sides listen to all the time; PSUBSCRIBE * hears the rest. */
export const SHARD_CHANNELS = ['ch:x', 'ch:y', 'in:h~a', 'in:h~b', 'news']
/** It ends what is waited for. No channel of programs. */
export const MARKER = 'that is all'
export const READERS = {
  string: (key) => ['get', key],
  hash: (key) => ['hgetall', key],
  list: (key) => ['lrange', key, '0', '-1'],
  zset: (key) => ['zrange', key, '0', '-1', 'withscores'],
}
// In one moment: of what ends meanwhile there would be a half. After EVAL the script is kept, but not counted on.
const DUMP = `
  local answer = { redis.call('time') }
  local read = {
    string = function(key) return redis.call('get', key) end,
    hash = function(key) return redis.call('hgetall', key) end,
    list = function(key) return redis.call('lrange', key, 0, -1) end,
    zset = function(key) return redis.call('zrange', key, 0, -1, 'withscores') end,
  }
  for i, key in ipairs(redis.call('keys', '*')) do
    local type = redis.call('type', key).ok
    answer[i + 1] = { key, type, read[type](key), redis.call('pexpiretime', key) }
  end
  return answer`
const KINDS = { message: 1, smessage: 1, pmessage: 2 }
const EVERYTHING = ['on', 'nopass', '~*', '&*', '+@all']

const isMessage = (reply) => Array.isArray(reply) && Object.hasOwn(KINDS, reply[0])
/** Channel and payload; a pattern stands before them. */
const messageOf = (reply) => reply.slice(KINDS[reply[0]])

/** A real server, on which programs run one after the other. */
export class RealSide {
  /** @type {Connection} */ #first
  /** @type {Connection} */ #second
  /** @type {Connection} */ #control
  /** @type {Connection} */ #ear

  /** @param {{ host: string, port: number }} server @param {number} version its major one */
  static async on(server) {
    const side = new RealSide()
    const connect = async () => {
      const connection = await Connection.to(server)
      await connection.send([['auth', 'comparer', 'any']])
      return connection
    }
    side.#first = await Connection.to(server)
    await side.#first.send([['acl', 'setuser', 'comparer', ...EVERYTHING]])
    side.#second = await connect()
    side.#control = await connect()
    side.#ear = await connect()
    await side.#ear.send([['psubscribe', '*'], ...SHARD_CHANNELS.map((channel) => ['ssubscribe', channel])])
    await side.reset()
    return side
  }

  /** Only the scripts of Holdfast are known. */
  async reset() {
    const loads = Object.values(SCRIPTS).map((text) => ['script', 'load', text])
    const [, ...digests] = await this.#control.send([['script', 'flush'], ...loads])
    if (Object.values(DIGESTS).some((digest, i) => digests[i] !== digest)) {
      throw new Error(`the server does not take the scripts: ${JSON.stringify(digests)}`)
    }
  }

  close() {
    for (const each of [this.#first, this.#second, this.#control, this.#ear]) each.close()
  }

  /** @param {import('./program.mjs').Step[]} steps @param {number} beginning ms since 1970 @returns {Promise<Transcript>} */
  async run(steps, beginning) {
    const replies = steps.map(() => null)
    const times = steps.map(() => beginning)
    const own = []
    for (let i = 0; i < steps.length; i += 1) {
      const step = steps[i]
      if (step.kind === 'command' && step.on === 0) {
        const end = endOfRow(steps, i)
        await this.#row(steps.slice(i, end), beginning, (place, reply, time) => {
          replies[i + place] = reply
          times[i + place] = time
        })
        i = end - 1
      } else if (step.kind === 'command') {
        const words = step.words.map((word) => textOf(word, beginning))
        const all = await this.#untilMarker(this.#second, [words])
        own.push(...all.filter(isMessage).map(messageOf))
        replies[i] = all.filter((reply) => !isMessage(reply))
      } else {
        await this.#change(step)
      }
    }
    return { replies, times, ...(await this.#end(own)) }
  }

  /** Commands of the first connection that follow each other. */
  async #row(steps, beginning, onReply) {
    const commands = steps.flatMap(({ words }) => [['time'], words.map((word) => textOf(word, beginning))])
    const answers = await this.#first.send(commands)
    steps.forEach((_, place) => {
      // Not allowed, if the user may not ask: then it is told like everything else, and the clock is not needed.
      const time = answers[2 * place]
      onReply(place, answers[2 * place + 1], Array.isArray(time) ? timeIn(time) : Date.now())
    })
  }

  async #untilMarker(connection, commands) {
    const isMarker = (reply) => reply === MARKER || (Array.isArray(reply) && reply[0] === 'pong')
    const all = await connection.sendUntil([...commands, ['ping', MARKER]], (replies) =>
      isMarker(replies.at(-1)),
    )
    return all.slice(0, -1)
  }

  async #change(step) {
    if (step.kind === 'pause') {
      await sleep(step.pauseMs)
    } else if (step.kind === 'role') {
      // Nobody listens there: it never gets anything from its primary.
      await this.#control.send([
        step.role === 'replica' ? ['replicaof', '127.0.0.1', '1'] : ['replicaof', 'no', 'one'],
      ])
    } else {
      await this.#control.send([['acl', 'setuser', 'default', 'reset', ...rulesOf(step.user)]])
    }
  }

  async #end(own) {
    const leave = [['unsubscribe'], ['punsubscribe'], ['sunsubscribe']]
    own.push(...(await this.#untilMarker(this.#second, leave)).filter(isMessage).map(messageOf))
    const wasWell = [
      ['replicaof', 'no', 'one'],
      ['config', 'set', 'maxmemory', '0'],
      ['config', 'set', 'maxmemory-policy', 'noeviction'],
    ]
    const well = [...wasWell, ['acl', 'setuser', 'default', 'reset', ...EVERYTHING]]
    const [now, ...entries] = (
      await this.#control.send([...well, ['publish', MARKER, ''], ['eval', DUMP, '0']])
    ).at(-1)
    const heard = await this.#ear.sendUntil(
      [],
      (all) => messageOf(all.at(-1) ?? [])[0] === MARKER || all.at(-1)?.[2] === MARKER,
    )
    const keys = entries.map(([name, type, content, endsAt]) => [name, [type, content, endOf(endsAt)]])
    await this.#control.send([['flushall'], ['config', 'resetstat']])
    await this.#first.send([['reset']])
    return { endedAt: timeIn(now), messages: [heard.slice(0, -1).map(messageOf), own], keys: new Map(keys) }
  }
}

/** An integer of 63 bits is too large for a number of Lua, which makes the least of it. */
const endOf = (endsAt) => (endsAt === -(2n ** 63n) ? Number(2n ** 63n) : Number(endsAt))
const timeIn = ([seconds, us]) => Number(seconds) * 1_000 + Number(us) / 1_000

const endOfRow = (steps, begin) => {
  const end = steps.findIndex((step, i) => i > begin && !(step.kind === 'command' && step.on === 0))
  return end < 0 ? steps.length : end
}

const rulesOf = (user) =>
  user === null
    ? EVERYTHING
    : [
        ...['on', 'nopass', '+@all'],
        ...user.deniedCommands.map((name) => `-${name}`),
        ...user.keys.map((pattern) => `~${pattern}`),
        ...user.channels.map((pattern) => `&${pattern}`),
      ]
