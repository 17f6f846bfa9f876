import { connect } from '../connection.mjs'
import { LEASE_MS } from '../work.mjs'
import { retries } from './redlock.mjs'

const README_LEASE_MS = 1_000

const opened = (leaseMs) => async () => {
  const { default: Redlock } = await import('redlock4')
  return async ({ options, waits }) => {
    const redis = await connect(options)
    const redlock = new Redlock([redis], retries(waits))
    redlock.on('clientError', () => undefined)
    const flow = (name) => async (during) => {
      const lock = await redlock.lock(name, leaseMs)
      if (during) await during()
      await lock.unlock()
    }
    return { flow, close: () => redlock.quit() }
  }
}

const common = {
  name: 'redlock 4',
  kind: 'peer',
  package: 'redlock4',
  polls: true,
  shared: true,
  sends: { evalsha: 1, eval: 1 },
  calls: { evalsha: 2, set: 1, del: 1 },
}

export const redlock4 = { ...common, load: opened(LEASE_MS) }
export const redlock4Default = { ...common, load: opened(README_LEASE_MS) }
