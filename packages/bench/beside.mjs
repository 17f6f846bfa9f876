// Holdfast beside a library of string locks, on one Redis and one name: who was inside when, while processes are killed;
// what a late unlock of the library does to our hash; and what a crowd costs that waits for one string.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { LockClient } from '@holdfast/core'
import { RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { parseOptions, requireKnown, UsageError } from '../../scripts/command-line.mjs'
import { withServerProgram } from '../../scripts/redis/server-program.mjs'
import { runCommand } from './src/command.mjs'
import { LIBRARIES } from './src/beside/libraries.mjs'
import { judged } from './src/beside/judge.mjs'
import { rulesHold } from './src/beside/rules.mjs'

const WORKER = fileURLToPath(new URL('./src/beside/worker.mjs', import.meta.url))
const NAME = 'order:42'
const EVENTS = 'events'
const OF_EACH = 3
const KILL_EVERY_MS = 1_000
const SHORT_MS = 300
const NEVER_ENDS_MS = 3_000
const START_MS = 30_000
const FOREIGN_TEXT = '4f3c9d21e07ab86d5512c0aa9e4410bb'
const CROWD = 100
const CROWD_MS = 5_000

const USAGE = `Usage: npm run bench:beside -- [options]

  --library NAME   one library; may be given again
                   ${Object.keys(LIBRARIES).join(', ')}
  --rules          a dozen libraries of docs/beside-other-locks.md by the commands they send, in a second; others only
                   where --library names them
  --seconds N      of each library's processes beside ours   (60)
  --help`

const parseArguments = (args) => {
  const {
    rules,
    library = rules ? [] : Object.keys(LIBRARIES),
    seconds,
    help,
  } = parseOptions(args, {
    library: { type: 'string', multiple: true },
    rules: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '60' },
    help: { type: 'boolean', default: false },
  })
  requireKnown('library', library, Object.keys(LIBRARIES))
  if (!(Number(seconds) > 0)) throw new UsageError(`--seconds must be above 0, not ${seconds}`)
  return { rules, library, seconds: Number(seconds), help }
}

const killed = async (child) => {
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/** Processes of both kinds on one lock; one of them is killed now and then, and another takes its place. */
async function mixedFleet(server, library, forMs) {
  const redis = new Redis(server.url)
  await redis.flushall()
  let count = 0
  const start = (kind) => {
    const id = `${kind}-${(count += 1)}`
    return { id, kind, child: fork(WORKER, [id, kind, server.url, NAME, EVENTS, library]) }
  }
  const workers = [library, 'holdfast'].flatMap((kind) => Array.from({ length: OF_EACH }, () => start(kind)))
  // Processes take a while to start on a busy machine, and a kill before the first turn shows nothing.
  const startedBy = performance.now() + START_MS
  while (judged(await redis.lrange(EVENTS, 0, -1)).changes === 0 && performance.now() < startedBy)
    await sleep(50)
  const endsAt = performance.now() + forMs
  let kills = 0
  while (performance.now() < endsAt) {
    await sleep(KILL_EVERY_MS)
    const at = kills % workers.length
    const { id, kind, child } = workers[at]
    await killed(child)
    await redis.rpush(EVENTS, `dead ${id}`)
    workers[at] = start(kind)
    kills += 1
  }
  for (const { child } of workers) await killed(child)
  const found = judged(await redis.lrange(EVENTS, 0, -1))
  redis.disconnect()
  return { ...found, kills }
}

/** A lock of the library that has been taken: `unlock` resolves with what that said. */
async function taken(server, library) {
  const theirs = await LIBRARIES[library].open(server.url, { leaseMs: SHORT_MS })
  const unlock = await theirs.acquire(NAME)
  return {
    unlock: () =>
      unlock().then(
        () => 'says nothing',
        (error) => `throws ${error?.name ?? 'Error'}: ${String(error?.message).split('\n')[0]}`,
      ),
    close: async () => void theirs.close().catch(() => undefined),
  }
}

/** The library's lock has ended by its time, and ours has its name: what is left of ours when the library unlocks. */
async function lateUnlock(server, library) {
  const redis = new Redis(server.url)
  await redis.flushall()
  const locks = await LockClient.connect(server.url, { foreignLocks: 'wait' })
  const { keyOf = (name) => name } = LIBRARIES[library]
  const theirs = await taken(server, library)
  const hold = await locks.getLock(keyOf(NAME)).acquire()
  const limit = new AbortController()
  const said = await Promise.race([
    sleep(NEVER_ENDS_MS, 'tries again and again', { signal: limit.signal }),
    theirs.unlock(),
  ])
  limit.abort()
  const isLeft = (await redis.hexists(keyOf(NAME), hold.owner)) === 1
  await hold.release()
  await locks.close({ graceMs: 0 })
  await theirs.close()
  redis.disconnect()
  return { said: said.slice(0, 100), isLeft }
}

/** Commands a second of so many clients that wait for one string. */
async function crowd(server) {
  const redis = new Redis(server.url)
  await redis.flushall()
  await redis.set(NAME, FOREIGN_TEXT, 'PX', 30_000)
  const options = { foreignLocks: 'wait', bareCalls: 'allow' }
  const clients = await Promise.all(
    Array.from({ length: CROWD }, () => LockClient.connect(server.url, options)),
  )
  const ends = new AbortController()
  const waits = clients.map((each) =>
    each
      .getLock(NAME)
      .acquire({ signal: ends.signal })
      .catch(() => null),
  )
  await sleep(1_000)
  const scripts = async () => {
    const stats = await redis.info('commandstats')
    return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+),usec=(\d+)/g)].reduce(
      ([calls, usec], match) => [calls + Number(match[1]), usec + Number(match[2])],
      [0, 0],
    )
  }
  const before = await scripts()
  const from = performance.now()
  await sleep(CROWD_MS)
  const after = await scripts()
  const seconds = (performance.now() - from) / 1_000
  ends.abort()
  await Promise.all(waits)
  await Promise.all(clients.map((each) => each.close({ graceMs: 0 })))
  redis.disconnect()
  return { scripts: (after[0] - before[0]) / seconds, busy: (after[1] - before[1]) / seconds / 1e6 }
}

/** @returns {Promise<boolean>} whether the libraries and Holdfast left each other alone */
const compared = async (server, { rules, library: libraries, seconds }) => {
  const doRulesHold = !rules || (await rulesHold(server.url))
  if (libraries.length === 0) return doRulesHold
  let overlaps = 0
  let isShown = true
  for (const library of libraries) {
    const fleet = await mixedFleet(server, library, seconds * 1_000)
    const { said, isLeft } = await lateUnlock(server, library)
    overlaps += fleet.overlaps.length
    // Where one of them never came in, nothing was shown.
    isShown &&= fleet.changes > 0 && isLeft
    const inside = Object.entries(fleet.entries).map(([kind, count]) => `${kind} ${count}`)
    const ours = fleet.entries.holdfast ?? 0
    const all = Object.values(fleet.entries).reduce((sum, count) => sum + count, 0)
    console.log(
      `${library}: ${fleet.overlaps.length} overlaps, ${fleet.kills} kills; inside: ${inside.join(', ')}`,
    )
    console.log(
      `  from one to the other ${fleet.changes} times; each Holdfast waiter has ${((100 * ours) / all / OF_EACH).toFixed(1)} % of the turns`,
    )
    console.log(`  a late unlock ${said}, our lock ${isLeft ? 'stays' : 'IS GONE'}`)
    fleet.overlaps.slice(0, 5).forEach((each) => console.log(`  ${each}`))
  }
  const { scripts, busy } = await crowd(server)
  console.log(
    `${CROWD} clients behind one string: ${Math.round(scripts)} scripts a second, ${(100 * busy).toFixed(1)} % of Redis's time`,
  )
  return overlaps === 0 && isShown && doRulesHold
}

const main = (wanted, interrupted) =>
  withServerProgram(async () => {
    const server = await RedisServer.start()
    try {
      // Whatever still runs ends with the server and with this process.
      const ended = once(interrupted, 'abort').then(() => Promise.reject(interrupted.reason))
      const isFine = await Promise.race([ended, compared(server, wanted)])
      process.exitCode ||= isFine ? 0 : 1
    } finally {
      await server.stop()
    }
    // Connections that a library has left open do not keep this process.
    process.exit()
  })

await runCommand(USAGE, parseArguments, main)
if (process.exitCode) process.exit()
