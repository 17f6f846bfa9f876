import { connect } from '../connection.mjs'
import { LEASE_MS } from '../work.mjs'

/** It tries every 10 ms for 10 s unless told how to wait; then for as long as it takes. */
const retries = (waits) =>
  waits === undefined
    ? {}
    : {
        acquireTimeout: 3_600_000,
        ...(waits.retryMs === undefined ? {} : { retryInterval: waits.retryMs }),
      }

const opened = (flowOf) => async () => {
  const { Mutex } = await import('redis-semaphore')
  return async ({ options, waits }) => {
    const redis = await connect(options)
    return {
      flow: (name) => flowOf((more) => new Mutex(redis, name, { ...retries(waits), ...more })),
      close: () => redis.quit(),
    }
  }
}

const common = {
  name: 'redis-semaphore Mutex',
  kind: 'peer',
  package: 'redis-semaphore',
  polls: true,
  sends: { evalsha: 1, set: 1 },
  calls: { set: 1, evalsha: 1, del: 1 },
}

const pair = async (mutex, during) => {
  await mutex.acquire()
  if (during) await during()
  await mutex.release()
}

export const redisSemaphore = {
  ...common,
  load: opened((mutexOf) => {
    const mutex = mutexOf({ lockTimeout: LEASE_MS })
    return (during) => pair(mutex, during)
  }),
}

/** The README makes a mutex for each use. */
export const redisSemaphoreDefault = {
  ...common,
  load: opened((mutexOf) => (during) => pair(mutexOf(), during)),
}
