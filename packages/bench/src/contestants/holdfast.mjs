import { LockClient } from '@holdfast/core'
import { connect } from '../connection.mjs'
import { work } from '../work.mjs'

const byHand = (locks) => ({
  flow(name) {
    const lock = locks.getLock(name)
    return async () => {
      const hold = await lock.lock()
      if ((await hold.release()) !== 'released') throw new Error(`${name} was lost`)
    }
  },
})

const byCallback = (locks) => ({
  flow(name) {
    const lock = locks.getLock(name)
    return () => lock.withLock(work)
  },
})

const onGivenClient = (face) => async () => {
  return async ({ options }) => {
    const redis = await connect(options)
    const locks = await LockClient.connect(redis)
    return {
      ...face(locks),
      async close() {
        await locks.close()
        await redis.quit()
      },
    }
  }
}

const common = {
  kind: 'holdfast',
  package: '@holdfast/core',
  // Not EVALSHA: how many scripts the pairs of all flows travel in depends on their timing.
  calls: { hset: 1, del: 1, publish: 1 },
}

export const holdfastLock = { ...common, name: 'Holdfast lock, release', load: onGivenClient(byHand) }
export const holdfastWithLock = { ...common, name: 'Holdfast withLock', load: onGivenClient(byCallback) }

/** The README's quickstart. */
export const holdfastDefault = {
  ...common,
  name: 'Holdfast withLock',
  async load() {
    return async ({ options }) => {
      const locks = await LockClient.connect(options)
      return { ...byCallback(locks), close: () => locks.close() }
    }
  },
}
