// One process that takes the lock again and again, by its library, and says when it is inside.
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { Redis } from 'ioredis'
import { LIBRARIES } from './libraries.mjs'

const LEASE_MS = 3_000
const LONGEST_WORK_MS = 4
const [id, kind, url, name, events] = process.argv.slice(2)
// Killed as a rule; not where the parent was interrupted.
process.on('disconnect', () => process.exit())
const redis = new Redis(url)

async function holdfast() {
  const locks = await LockClient.connect(url, {
    foreignLocks: 'wait',
    lockWatchdogTimeout: LEASE_MS,
    bareCalls: 'allow',
  })
  return {
    acquire: async (key) => {
      const hold = await locks.getLock(key).acquire()
      return () => hold.release()
    },
  }
}

/** The key that the library of this fleet makes of the name: Holdfast takes its lock under the same. */
const other = process.argv[7]
const keyOf = LIBRARIES[other]?.keyOf ?? ((given) => given)
const lock = kind === 'holdfast' ? await holdfast() : await LIBRARIES[kind].open(url, { leaseMs: LEASE_MS })
const wanted = kind === 'holdfast' ? keyOf(name) : name
for (;;) {
  const unlock = await lock.acquire(wanted)
  await redis.rpush(events, `in ${id}`)
  await sleep(Math.random() * LONGEST_WORK_MS)
  await redis.rpush(events, `out ${id}`)
  await unlock()
  await sleep(Math.random() * LONGEST_WORK_MS)
}
