import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/faults/harness'
import { Cluster, Redis } from 'ioredis'

/** The same Redis as that of the test that started it. */
const targetOf = (url) => {
  const { kind, endpoints, name } = JSON.parse(process.env.HOLDFAST_TEST_TOPOLOGY ?? '{}')
  if (kind === 'cluster') return new Cluster(endpoints)
  return kind === 'sentinel' ? new Redis({ sentinels: endpoints, name }) : url
}

const holds = new Map()

serveWorker({
  /** Each lock by a client of its own. */
  hold: async (url, { calls: [first, ...calls], name }, options) => {
    const locks = await LockClient.connect(targetOf(url), options)
    const lock = calls.reduce((found, call) => found[call](), locks[first](name))
    const hold = await lock.acquire()
    holds.set(name, hold)
    return hold.owner
  },
  held: (name) => !holds.get(name).signal.aborted,
})
