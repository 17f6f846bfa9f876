// The npm package node-redisson by remote control, as far as contention needs it.
import { serveWorker } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { Redisson } from 'node-redisson'

const { hostname, port } = new URL(process.argv[2])
const redisson = new Redisson({ redis: { options: { host: hostname, port: Number(port) } } })
const counters = new Redis(process.argv[2])

// Its `lock()` may miss the release that it waits for, and then sleeps for the whole lease of 30 s that it was told of: it
// asks first and subscribes afterwards, and a caller that stops listening takes the channel from the others of its
// process. While others contend the next release wakes it; at the end there is none. A limit keeps that sleep short.
const WAIT_MS = 200

serveWorker({
  /** Takes the lock again and again, and counts in two steps that only the lock makes one. */
  async contend(name, counter, forMs) {
    const endsAt = performance.now() + forMs
    let taken = 0
    while (performance.now() < endsAt) {
      const lock = redisson.getLock(name)
      if (!(await lock.tryLock(WAIT_MS, true))) continue
      await counters.set(counter, Number(await counters.get(counter)) + 1)
      taken += 1
      await lock.unlock()
    }
    return taken
  },
})
