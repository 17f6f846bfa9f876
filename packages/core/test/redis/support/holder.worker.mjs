import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/testing'

let locks
let hold

serveWorker({
  hold: async (url, { calls: [first, ...calls], name }, options) => {
    locks = await LockClient.connect(url, options)
    const lock = calls.reduce((found, call) => found[call](), locks[first](name))
    hold = await lock.acquire()
    return hold.owner
  },
  held: () => !hold.signal.aborted,
})
