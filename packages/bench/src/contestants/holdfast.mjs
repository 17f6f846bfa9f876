import { AsyncLocalStorage } from 'node:async_hooks'
import { LockClient } from '@holdfast/core'
import { connect } from '../connection.mjs'

const byHand = (lock, name) => async (during) => {
  const hold = await lock.lock()
  if (during) await during()
  if ((await hold.release()) !== 'released') throw new Error(`${name} was lost`)
}

const nothing = async () => undefined

const byCallback =
  (lock) =>
  (during = nothing) =>
    lock.withLock(during)

/** The client that a hundred callers share: one client on one connection, its defaults. */
const onGivenClient = (getLock, face, settings) => async () => {
  return async ({ options }) => {
    const redis = await connect(options)
    const locks = await LockClient.connect(redis, settings)
    return {
      flow: (name) => face(getLock(locks, name), name),
      async close() {
        await locks.close({ graceMs: 0 })
        await redis.quit()
      },
    }
  }
}

const plain = (locks, name) => locks.getLock(name)

const common = {
  kind: 'holdfast',
  package: '@holdfast/core',
  polls: false,
  shared: true,
  sends: { evalsha: 1, eval: 1, subscribe: 1, unsubscribe: 1, ping: 1 },
  // Not EVALSHA: how many scripts the pairs of all flows travel in depends on their timing.
  calls: { hset: 1, hdel: 1, publish: 1 },
}

export const holdfastLock = {
  ...common,
  name: 'Holdfast lock, release',
  load: onGivenClient(plain, byHand),
}
/** Each transition a command of its own, as raw has it. */
export const holdfastUnbatched = {
  ...common,
  name: 'Holdfast, commandBatchSize 1',
  load: onGivenClient(plain, byHand, { commandBatchSize: 1 }),
}
export const holdfastWithLock = {
  ...common,
  name: 'Holdfast withLock',
  load: onGivenClient(plain, byCallback),
}
/** Settles once the release is written: see docs/decisions/0081-once-the-release-is-written.md. */
export const holdfastEarly = {
  ...common,
  name: 'Holdfast withLock, releaseWaitMs 0',
  load: onGivenClient(plain, byCallback, { releaseWaitMs: 0 }),
}
/** Stays for the next caller of its client: see docs/linger.md. */
export const holdfastLinger = {
  ...common,
  name: 'Holdfast withLock, lingerMs 5',
  calls: {},
  load: onGivenClient(plain, byCallback, { lingerMs: 5 }),
}
export const holdfastFair = {
  ...common,
  name: 'Holdfast fair lock',
  calls: {},
  load: onGivenClient((locks, name) => locks.getFairLock(name), byCallback),
}

/** The README's quickstart. */
export const holdfastDefault = {
  ...common,
  name: 'Holdfast withLock',
  async load() {
    return async ({ options }) => {
      const locks = await LockClient.connect(options)
      return { flow: (name) => byCallback(locks.getLock(name)), close: () => locks.close() }
    }
  },
}

const feature = (name, getLock, face, settings) => ({
  ...common,
  name,
  calls: {},
  load: onGivenClient(getLock, face, settings),
})

const withFixedLease = (lock, name) => async () => {
  const hold = await lock.lock(30_000)
  if ((await hold.release()) !== 'released') throw new Error(`${name} was lost`)
}

/** Context of the service around, for its logs: one, because Node asks each of them at every promise. */
const requests = new AsyncLocalStorage()

/** Costs of each feature, beside the plain lock taken by hand. */
export const FEATURES = [
  feature('lock, release', plain, byHand),
  feature('no watchdog: a lease of 30 s', plain, withFixedLease),
  feature("interop: 'none'", plain, byHand, { interop: 'none' }),
  feature('in a request that AsyncLocalStorage follows', plain, (lock, name) => {
    const pair = byHand(lock, name)
    return () => requests.run(name, pair)
  }),
  feature('withLock', plain, byCallback),
  feature(
    'withLock in a context of its own',
    (locks, name) => ({ locks, lock: locks.getLock(name) }),
    ({ locks, lock }) =>
      () =>
        locks.run(() => lock.withLock(nothing)),
  ),
  feature(
    're-entered once',
    (locks, name) => locks.getLock(name),
    (lock) => () => lock.withLock(() => lock.withLock(nothing)),
  ),
  feature('fenced lock', (locks, name) => locks.getFencedLock(name), byHand),
  feature('fair lock', (locks, name) => locks.getFairLock(name), byHand),
  feature('read lock', (locks, name) => locks.getReadWriteLock(name).readLock(), byHand),
  feature('write lock', (locks, name) => locks.getReadWriteLock(name).writeLock(), byHand),
  feature('spin lock', (locks, name) => locks.getSpinLock(name), byHand),
  feature('non-reentrant lock', (locks, name) => locks.getNonReentrantLock(name), byHand),
]
