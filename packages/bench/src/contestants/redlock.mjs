import { connect } from '../connection.mjs'
import { LEASE_MS, work } from '../work.mjs'

const README_LEASE_MS = 5_000

const opened = (flowOf) => async () => {
  const { default: Redlock } = await import('redlock')
  return async ({ options }) => {
    const redis = await connect(options)
    const redlock = new Redlock([redis])
    return { flow: flowOf(redlock), close: () => redlock.quit() }
  }
}

const common = { name: 'redlock', kind: 'peer', package: 'redlock', calls: { evalsha: 2, set: 1, del: 1 } }

export const redlock = {
  ...common,
  load: opened((redlock) => (name) => async () => {
    const lock = await redlock.acquire([name], LEASE_MS)
    await lock.release()
  }),
}

export const redlockDefault = {
  ...common,
  name: 'redlock using',
  load: opened((redlock) => (name) => () => redlock.using([name], README_LEASE_MS, work)),
}
