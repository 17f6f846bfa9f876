import { connect } from '../connection.mjs'
import { LEASE_MS, work } from '../work.mjs'

const README_LEASE_MS = 5_000

/** Its own retries (10, 200 ms apart, give or take 100) unless told how to wait; then for ever. */
export const retries = (waits) =>
  waits === undefined
    ? {}
    : {
        retryCount: -1,
        ...(waits.retryMs === undefined ? {} : { retryDelay: waits.retryMs, retryJitter: waits.retryMs / 2 }),
      }

const opened = (flowOf) => async () => {
  const { default: Redlock } = await import('redlock')
  return async ({ options, waits }) => {
    const redis = await connect(options)
    const redlock = new Redlock([redis], retries(waits))
    // It tells of each attempt that found the lock taken.
    redlock.on('error', () => undefined)
    return { flow: flowOf(redlock), close: () => redlock.quit() }
  }
}

const common = {
  name: 'redlock 5',
  kind: 'peer',
  package: 'redlock',
  polls: true,
  shared: true,
  sends: { evalsha: 1 },
  calls: { evalsha: 2, set: 1, del: 1 },
}

export const redlock = {
  ...common,
  load: opened((redlock) => (name) => async (during) => {
    const lock = await redlock.acquire([name], LEASE_MS)
    if (during) await during()
    await lock.release()
  }),
}

export const redlockDefault = {
  ...common,
  name: 'redlock 5 using',
  load: opened(
    (redlock) =>
      (name) =>
      (during = work) =>
        redlock.using([name], README_LEASE_MS, during),
  ),
}
