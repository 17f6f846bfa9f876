import { connect } from '../connection.mjs'
import { LEASE_MS } from '../work.mjs'

const opened = (flowOf) => async () => {
  const { Mutex } = await import('redis-semaphore')
  return async ({ options }) => {
    const redis = await connect(options)
    return { flow: (name) => flowOf(Mutex, redis, name), close: () => redis.quit() }
  }
}

const common = {
  name: 'redis-semaphore Mutex',
  kind: 'peer',
  package: 'redis-semaphore',
  calls: { set: 1, evalsha: 1, del: 1 },
}

export const redisSemaphore = {
  ...common,
  load: opened((Mutex, redis, name) => {
    const mutex = new Mutex(redis, name, { lockTimeout: LEASE_MS })
    return async () => {
      await mutex.acquire()
      await mutex.release()
    }
  }),
}

/** The README makes a mutex for each use. */
export const redisSemaphoreDefault = {
  ...common,
  load: opened((Mutex, redis, name) => async () => {
    const mutex = new Mutex(redis, name)
    await mutex.acquire()
    await mutex.release()
  }),
}
