// The npm package node-redisson by remote control, as far as contention needs it.
import { serveWorker } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { Redisson } from 'node-redisson'

const { hostname, port } = new URL(process.argv[2])
const redisson = new Redisson({ redis: { options: { host: hostname, port: Number(port) } } })
const counters = new Redis(process.argv[2])

serveWorker({
  /** Takes the lock again and again, and counts in two steps that only the lock makes one. */
  async contend(name, counter, forMs) {
    const endsAt = performance.now() + forMs
    let taken = 0
    while (performance.now() < endsAt) {
      const lock = redisson.getLock(name)
      await lock.lock()
      await counters.set(counter, Number(await counters.get(counter)) + 1)
      taken += 1
      await lock.unlock()
    }
    return taken
  },
})
