import { connect } from '../connection.mjs'
import { LEASE_MS, work } from '../work.mjs'

const opened = (pairOf) => async () => {
  const { createLock, IoredisAdapter } = await import('redlock-universal')
  return async ({ options }) => {
    const redis = await connect(options)
    const adapter = new IoredisAdapter(redis)
    return {
      flow: (name) => pairOf(createLock({ adapter, key: name, ttl: LEASE_MS }), name),
      close: () => redis.quit(),
    }
  }
}

const common = {
  name: 'redlock-universal',
  kind: 'peer',
  package: 'redlock-universal',
  calls: { set: 1, evalsha: 1, del: 1 },
}

export const redlockUniversal = {
  ...common,
  load: opened((lock, name) => async () => {
    const handle = await lock.acquire()
    if (!(await lock.release(handle))) throw new Error(`${name} was lost`)
  }),
}

export const redlockUniversalDefault = {
  ...common,
  name: 'redlock-universal using',
  load: opened((lock) => () => lock.using(work)),
}
