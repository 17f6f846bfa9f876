import { OncePerName, warn } from '../events.js'
import { checkLease } from '../arguments/validate.js'

const SHORT_LEASE_MS = 100
const SHORT_LEASE = 'HOLDFAST_SHORT_LEASE'
const IN_MS = 'Durations are milliseconds, not seconds.'
const warned = new OncePerName()

/** Redisson's users think in seconds: a lease this short is more likely a mistake than a wish. */
export function checkLevelLease(leaseMs: number | undefined): void {
  checkLease('leaseMs', leaseMs)
  if (leaseMs !== undefined && leaseMs < SHORT_LEASE_MS && warned.take('process')) {
    warn(SHORT_LEASE, `A lease of ${leaseMs} ms was asked for. ${IN_MS}`)
  }
}

/** To be called once for each client: it is the lease of all that it takes without one. */
export function warnOfShortWatchdog(lockWatchdogTimeout: number): void {
  if (lockWatchdogTimeout < SHORT_LEASE_MS) {
    warn(SHORT_LEASE, `A client has a lockWatchdogTimeout of ${lockWatchdogTimeout} ms. ${IN_MS}`)
  }
}
