import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RedisServer, WorkerProcess } from '@holdfast/testing'
import { openHistory, readHistories } from '../torture/history-file.mjs'
import { seededRandom } from '../torture/random.mjs'

const WORKER = new URL('./worker.mjs', import.meta.url)
const LOCK = 'guarded'
// What was answered is on the disk.
const PERSISTENT = ['--appendonly', 'yes', '--appendfsync', 'always']
const LONGEST_PEACE_MS = 600

/** What may happen to Redis. A restart keeps the data. */
const EVENTS = {
  restart: { class: 'disturbance', happen: (redis) => redis.restart() },
  crash: {
    class: 'disturbance',
    happen: async (redis) => {
      await redis.kill()
      await redis.restart()
    },
  },
  flush: { class: 'data-loss', happen: (redis) => redis.command('FLUSHALL') },
}

/**
 * Callers of several processes take one lock, again and again, while something happens to its Redis.
 *
 * @param {{ tokens: 'counter' | 'time', events: string[], acquisitions: number, processes: number, callers: number,
 *   seed: number }} wanted
 * @param {AbortSignal} interrupted
 * @returns {Promise<object[]>} what everybody saw
 */
export const runSeries = async (wanted, interrupted) => {
  const redis = await RedisServer.start({ args: PERSISTENT })
  const register = await RedisServer.start()
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-tokens-'))
  const file = join(folder, 'events.jsonl')
  const history = openHistory(file, 'tokens')
  const workers = []
  try {
    const files = await launch(workers, { redis, register, folder, ...wanted })
    const share = Math.ceil(wanted.acquisitions / workers.length)
    const taking = Promise.all(workers.map((worker) => worker.call('take', share)))
    await disturb(redis, { ...wanted, history, interrupted, until: taking })
    await taking
    await Promise.all(workers.map((worker) => worker.call('finish')))
    return readHistories([...files, file])
  } finally {
    history.close()
    await Promise.all(workers.map((worker) => worker.kill()))
    await redis.stop()
    await register.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

const launch = async (workers, { redis, register, folder, processes, callers, tokens }) => {
  const files = []
  for (let i = 0; i < processes; i += 1) {
    const worker = await WorkerProcess.start(WORKER)
    workers.push(worker)
    const [name, file] = [`worker-${i}`, join(folder, `worker-${i}.jsonl`)]
    files.push(file)
    const { port } = redis
    const ports = { port, registerPort: register.port }
    await worker.call('begin', { name, file, ...ports, lock: LOCK, callers, tokens })
  }
  return files
}

const disturb = async (redis, { events, seed, history, interrupted, until }) => {
  const random = seededRandom(seed)
  let over = false
  // A failure ends it as well, and is thrown by whoever waits for the end.
  const end = () => (over = true)
  until.then(end, end)
  while (!over) {
    interrupted.throwIfAborted()
    await sleep(random.between(0, LONGEST_PEACE_MS))
    const name = random.pick(events)
    history.add('fault', { name, class: EVENTS[name].class })
    await EVENTS[name].happen(redis)
    history.add('healed', { name })
  }
}
