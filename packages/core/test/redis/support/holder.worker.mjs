import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/testing'

let locks
let hold

serveWorker({
  hold: async (url, name, options) => {
    locks = await LockClient.connect(url, options)
    hold = await locks.getLock(name).acquire()
    return hold.owner
  },
  held: () => !hold.signal.aborted,
})
