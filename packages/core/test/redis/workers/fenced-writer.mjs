// A service that writes under a fenced lock. Runs against the built packages.
import { LockClient } from '@holdfast/core'
import { serveWorker } from '@holdfast/faults/harness'

let hold

serveWorker({
  async take(url, name, leaseMs) {
    const locks = await LockClient.connect(url, { bareCalls: 'allow' })
    locks.on('lost', () => undefined)
    hold = await locks.getFencedLock(name).acquire({ leaseMs })
    return hold.token
  },
  /** The text that it would write, without a look at its lock: as code does that goes on after a pause. */
  write: (state) => ({ state, token: hold.token }),
})
