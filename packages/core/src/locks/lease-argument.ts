import { OncePerName, warn } from '../events.js'
import { checkLease } from '../validate.js'

const SHORT_LEASE_MS = 100
const warned = new OncePerName()

/** Redisson's users think in seconds: a lease this short is more likely a mistake than a wish. */
export function checkLevelLease(leaseMs: number | undefined): void {
  checkLease('leaseMs', leaseMs)
  if (leaseMs !== undefined && leaseMs < SHORT_LEASE_MS && warned.take('process')) {
    warn(
      'HOLDFAST_SHORT_LEASE',
      `A lease of ${leaseMs} ms was asked for. Durations are milliseconds, not seconds.`,
    )
  }
}
