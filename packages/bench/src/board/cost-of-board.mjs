/* global Request, TextDecoder */
import { setTimeout as sleep } from 'node:timers/promises'
import { createBoard } from '@holdfast/board'
import { LockClient } from '@holdfast/core'
import { report } from '@holdfast/core/observe'
import { RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { RedisInfo } from '../redis-info.mjs'

const LOCKS_A_CLIENT = 200
/** A tenth of them hashes with an end, which only a look tells from locks. */
const FILL = `for i = ARGV[1], ARGV[2] do
  if i % 10 == 0 then
    redis.call('hset', 'session:' .. i, 'user', i, 'cart', 'a few things')
    redis.call('pexpire', 'session:' .. i, 86400000)
  else
    redis.call('set', 'cache:' .. i, 'a value of some bytes')
  end
end`
const KEYS_A_SCRIPT = 20_000

/** @param {{ keys: number, locks: number, seconds: number }} wanted @param {AbortSignal} interrupted */
export const costOfBoard = async ({ keys, locks, seconds }, interrupted) => {
  const server = await RedisServer.start()
  const admin = new Redis(server.url)
  const info = new RedisInfo(admin)
  const closers = [() => admin.disconnect(), () => server.stop()]
  try {
    for (let i = 1; i <= keys; i += KEYS_A_SCRIPT) {
      await admin.eval(FILL, 0, i, Math.min(keys, i + KEYS_A_SCRIPT - 1))
    }
    const clients = []
    for (let held = 0; held < locks; held += LOCKS_A_CLIENT) {
      const client = await LockClient.connect(server.url, { bareCalls: 'allow' })
      closers.unshift(() => client.close({ graceMs: 0 }))
      clients.push(client)
      const names = Array.from(
        { length: Math.min(LOCKS_A_CLIENT, locks - held) },
        (_, i) => `order:${held + i}`,
      )
      await Promise.all(names.map((name) => client.getLock(name).acquire()))
    }
    const ways = []
    const measure = async (way) => {
      // The cost of the change itself is over by then.
      await sleep(2_000, undefined, { signal: interrupted })
      const [redis, own, at] = [await info.cpuMicros(), process.cpuUsage(), performance.now()]
      await sleep(seconds * 1_000, undefined, { signal: interrupted })
      const micros = (performance.now() - at) * 1_000
      const { user, system } = process.cpuUsage(own)
      ways.push({
        way,
        redis: ((await info.cpuMicros()) - redis) / micros,
        process: (user + system) / micros,
      })
    }
    await measure(`${clients.length} clients hold and renew them`)
    for (const client of clients) report(client)
    await measure('each of them reports')
    const looking = await LockClient.connect(server.url)
    const board = createBoard(looking)
    closers.unshift(() => looking.close())
    closers.unshift(() => board.close())
    const page = open(board, 'live')
    while (page.locks() < locks) await sleep(100, undefined, { signal: interrupted })
    await measure('and a page shows the table')
    open(board, 'live?lock=order%3A0')
    await measure('and another page shows one lock')
    return { ways, known: page.locks() }
  } finally {
    for (const close of closers) await close()
  }
}

/** A page: reads, and looks at nothing but how many locks it is told of. */
const open = (board, path) => {
  let locks = 0
  const read = async () => {
    const { body } = await board.fetch(new Request(`http://board.local/${path}`))
    const decoder = new TextDecoder()
    for await (const bytes of body) {
      const [, count] = /^event: state\ndata: \{[^}]*"locks":(\d+)/m.exec(decoder.decode(bytes)) ?? []
      locks = Number(count ?? locks)
    }
  }
  // It ends with the board.
  read().catch((error) => console.error(error))
  return { locks: () => locks }
}
