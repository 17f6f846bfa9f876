import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/testing'
import { Redis } from 'ioredis'
import { Attempt, release } from '../torture/attempt.mjs'
import { openHistory } from '../torture/history-file.mjs'
import { seededRandom } from '../torture/random.mjs'
import { LIMIT_MS, LOCK } from './settings.mjs'

const READS = 0.8
const LONGEST_OPERATION_MS = 4
// Long enough that somebody reads at every moment, whatever a single caller does.
const LONGEST_READ_OF_STREAM_MS = 20

let locks
let redis
let history
let both
let callers = []
let operations = 0
let isEnough = false

/** One read or write, from the call to the release. */
const operate = async ({ name, random }, mode, longestMs) => {
  const lock = mode === 'shared' ? both.readLock() : both.writeLock()
  const attempt = `${name}#${(operations += 1)}`
  const told = new Attempt(history, { lock: LOCK, attempt, mode, deadlineMs: LIMIT_MS })
  const held = told.acquired(await lock.acquire())
  await sleep(random.between(0, longestMs))
  held.hold.ensure()
  if (mode === 'exclusive') history.add('write', { lock: LOCK, owner: held.owner, accepted: true })
  await release(history, held)
}

/** Each caller one operation after another, until there have been as many as wanted. */
const together = (wanted, modeFor, longestMs) => {
  let left = wanted
  return Promise.all(
    callers.map(async (caller) => {
      while (left > 0) {
        left -= 1
        await operate(caller, modeFor(caller), longestMs)
      }
    }),
  )
}

serveWorker({
  async begin({ name, port, file, callers: count, readersStandBack, seed }) {
    history = openHistory(file, name)
    redis = new Redis({ host: '127.0.0.1', port })
    locks = new LockClient(redis, { clientName: name, bareCalls: 'allow' })
    both = locks.getReadWriteLock(LOCK, { readersStandBack })
    callers = Array.from({ length: count }, (_, i) => ({
      name: `${name}/${i}`,
      random: seededRandom(seed * 100 + i),
    }))
  },

  async mixed(wanted) {
    const mode = ({ random }) => (random.chance(READS) ? 'shared' : 'exclusive')
    await together(wanted, mode, LONGEST_OPERATION_MS)
  },

  async read(wanted) {
    await together(wanted, () => 'shared', LONGEST_READ_OF_STREAM_MS)
  },

  /** One caller, until it is told that it is enough. */
  async write() {
    const [caller] = callers
    while (!isEnough) {
      await operate(caller, 'exclusive', LONGEST_OPERATION_MS)
      await sleep(caller.random.between(0, LONGEST_READ_OF_STREAM_MS))
    }
  },

  enough() {
    isEnough = true
  },

  progress: () => operations,

  async finish() {
    await locks.close()
    const ended = once(redis, 'end')
    redis.disconnect()
    await ended
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    history.add('end', { keys: [], channels: [], timers })
    history.close()
  },
})
