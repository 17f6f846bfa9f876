// A service that releases everything on SIGTERM. Runs against the built packages.
import { LockClient } from '@holdfast/core'
import { emit, serveWorker } from '@holdfast/faults/harness'

let locks

process.on('SIGTERM', async () => {
  await locks.close({ graceMs: 200 })
  process.exit(0)
})

serveWorker({
  async open(url, options) {
    locks = await LockClient.connect(url, options)
  },
  hold: (names) => Promise.all(names.map((name) => locks.getLock(name).acquire())).then(() => undefined),
  /** Does not resolve before the wait ends; `waiting` tells that it has begun. */
  wait(name) {
    locks.on('waiting', ({ lockName }) => emit('waiting', lockName))
    const ended = locks.getLock(name).acquire()
    return ended.then(
      () => 'acquired',
      ({ code }) => code,
    )
  },
})
