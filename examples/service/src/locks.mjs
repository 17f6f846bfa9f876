import { LockClient } from '@holdfast/core'
import { report } from '@holdfast/core/observe'

/** One client for the process. What it logs is what somebody on call wants to know. */
export const connectLocks = async (redis, { leaseMs, log }) => {
  const locks = await LockClient.connect(redis, { lockWatchdogTimeout: leaseMs, describeHolds: true })
  locks.on('lost', ({ lockName, error }) => log.error({ lockName, err: error }, 'a lock was lost'))
  locks.on('unreachable', ({ lockNames, trustedForMs }) =>
    log.error({ lockNames, trustedForMs }, 'Redis is out of reach while locks are held'),
  )
  // The board shows with it what Redis does not know: since when a lock is held, and all calls that wait.
  report(locks)
  return locks
}
