// Holdfast beside a library of string locks, on one Redis and one name: who was inside when, while processes are killed;
// what a late unlock of the library does to our hash; and what a crowd costs that waits for one string.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { LockClient } from '@holdfast/core'
import { RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { LIBRARIES } from './src/beside/libraries.mjs'
import { judged } from './src/beside/judge.mjs'

const WORKER = fileURLToPath(new URL('./src/beside/worker.mjs', import.meta.url))
const NAME = 'order:42'
const EVENTS = 'events'
const OF_EACH = 3
const KILL_EVERY_MS = 1_000
const SHORT_MS = 300
const START_MS = 30_000
const CROWD = 100
const CROWD_MS = 5_000

const { values } = parseArgs({
  options: {
    library: { type: 'string', multiple: true },
    seconds: { type: 'string', default: '60' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`Usage: npm run bench:beside -- [--library ${Object.keys(LIBRARIES).join('|')}] [--seconds 60]`)
  process.exit(0)
}
const names = values.library ?? Object.keys(LIBRARIES)
const unknown = names.find((name) => !(name in LIBRARIES))
if (unknown !== undefined || !(Number(values.seconds) > 0)) {
  console.error(unknown === undefined ? '--seconds must be above 0' : `no library is called ${unknown}`)
  process.exit(2)
}

/** Processes of both kinds on one lock; one of them is killed now and then, and another takes its place. */
async function mixedFleet(server, library, forMs) {
  const redis = new Redis(server.url)
  await redis.flushall()
  let started = 0
  const start = (kind) => {
    const id = `${kind}-${(started += 1)}`
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
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    await redis.rpush(EVENTS, `dead ${id}`)
    workers[at] = start(kind)
    kills += 1
  }
  for (const { child } of workers) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  const found = judged(await redis.lrange(EVENTS, 0, -1))
  redis.disconnect()
  return { ...found, kills }
}

/** The library's lock has ended by its time, and ours has its name: what is left of ours when the library unlocks. */
async function lateUnlock(server, library) {
  const redis = new Redis(server.url)
  await redis.flushall()
  const locks = await LockClient.connect(server.url, { foreignLocks: 'wait' })
  const { keyOf = (name) => name } = LIBRARIES[library]
  const theirs = await LIBRARIES[library].open(server.url, { leaseMs: SHORT_MS })
  const unlock = await theirs.acquire(NAME)
  const hold = await locks.getLock(keyOf(NAME)).acquire()
  const said = await Promise.race([
    sleep(3_000).then(() => 'tries again and again'),
    unlock().then(
      () => 'says nothing',
      (error) => `throws ${error?.name ?? 'Error'}: ${String(error?.message).split('\n')[0].slice(0, 80)}`,
    ),
  ])
  const isLeft = (await redis.hexists(keyOf(NAME), hold.owner)) === 1
  await hold.release()
  await locks.close({ graceMs: 0 })
  theirs.close().catch(() => undefined)
  redis.disconnect()
  return { said, isLeft }
}

/** Commands a second of so many clients that wait for one string. */
async function crowd(server) {
  const redis = new Redis(server.url)
  await redis.flushall()
  await redis.set(NAME, '4f3c9d21e07ab86d5512c0aa9e4410bb', 'PX', 30_000)
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

const server = await RedisServer.start()
let overlaps = 0
let isShown = true
try {
  for (const library of names) {
    const fleet = await mixedFleet(server, library, Number(values.seconds) * 1_000)
    const { said, isLeft } = await lateUnlock(server, library)
    overlaps += fleet.overlaps.length
    // Where one of them never came in, nothing was shown.
    isShown &&= fleet.changes > 0 && isLeft
    const inside = Object.entries(fleet.entries).map(([kind, count]) => `${kind} ${count}`)
    console.log(
      `${library}: ${fleet.overlaps.length} overlaps, ${fleet.kills} kills; inside: ${inside.join(', ')}`,
    )
    console.log(
      `  from one to the other ${fleet.changes} times; a late unlock ${said}, our lock ${isLeft ? 'stays' : 'IS GONE'}`,
    )
    fleet.overlaps.slice(0, 5).forEach((each) => console.log(`  ${each}`))
  }
  const { scripts, busy } = await crowd(server)
  console.log(
    `${CROWD} clients behind one string: ${Math.round(scripts)} scripts a second, ${(100 * busy).toFixed(1)} % of Redis's time`,
  )
} finally {
  await server.stop()
}
process.exit(overlaps > 0 || !isShown ? 1 : 0)
