import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/faults/harness'
import { Cluster, Redis } from 'ioredis'

/** The same Redis as that of the test that started it. */
const targetOf = (url) => {
  const { kind, endpoints, name } = JSON.parse(process.env.HOLDFAST_TEST_TOPOLOGY ?? '{}')
  if (kind === 'cluster') return new Cluster(endpoints)
  return kind === 'sentinel' ? new Redis({ sentinels: endpoints, name }) : url
}

let locks
let hold

serveWorker({
  hold: async (url, { calls: [first, ...calls], name }, options) => {
    locks = await LockClient.connect(targetOf(url), options)
    const lock = calls.reduce((found, call) => found[call](), locks[first](name))
    hold = await lock.acquire()
    return hold.owner
  },
  held: () => !hold.signal.aborted,
})
