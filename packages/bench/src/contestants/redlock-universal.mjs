import { connect } from '../connection.mjs'
import { LEASE_MS, work } from '../work.mjs'

/** Its own retries (3, 100 ms apart) unless told how to wait; then for ever. */
const retries = (waits) =>
  waits === undefined
    ? {}
    : {
        retryAttempts: 1_000_000,
        ...(waits.retryMs === undefined ? {} : { retryDelay: waits.retryMs }),
      }

const opened = (pairOf) => async () => {
  const { createLock, IoredisAdapter } = await import('redlock-universal')
  return async ({ options, waits }) => {
    const redis = await connect(options)
    const adapter = new IoredisAdapter(redis)
    return {
      flow: (name) => pairOf(createLock({ adapter, key: name, ttl: LEASE_MS, ...retries(waits) }), name),
      close: () => redis.quit(),
    }
  }
}

const common = {
  name: 'redlock-universal',
  kind: 'peer',
  package: 'redlock-universal',
  polls: true,
  sends: { evalsha: 1, set: 1 },
  calls: { set: 1, evalsha: 1, del: 1 },
}

export const redlockUniversal = {
  ...common,
  load: opened((lock, name) => async (during) => {
    const handle = await lock.acquire()
    if (during) await during()
    if (!(await lock.release(handle))) throw new Error(`${name} was lost`)
  }),
}

export const redlockUniversalDefault = {
  ...common,
  name: 'redlock-universal using',
  load: opened(
    (lock) =>
      (during = work) =>
        lock.using(during),
  ),
}
