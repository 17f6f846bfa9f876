// Seconds. A wait takes at least a round trip, and at most as long as the caller is willing to wait.
const WAITS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const HOLDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const HAND_OFFS = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
// With the default lease, two thirds are 20 s.
const MARGINS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 60]

/**
 * The exported metrics. The names follow `db.client.connection.*` of OpenTelemetry's conventions: there are none for
 * locks.
 */
export const METRICS = {
  wait: {
    metric: 'holdfast.lock.wait.duration',
    description: 'From the beginning to the end of a call that had to wait for a lock',
    ...{ type: 'histogram', unit: 's', buckets: WAITS },
  },
  hold: {
    metric: 'holdfast.lock.hold.duration',
    description: 'From acquiring a lock to releasing or losing it',
    ...{ type: 'histogram', unit: 's', buckets: HOLDS },
  },
  handOff: {
    metric: 'holdfast.lock.handoff.duration',
    description: 'From the wake-up of a waiter to its acquiring the lock',
    ...{ type: 'histogram', unit: 's', buckets: HAND_OFFS },
  },
  margin: {
    metric: 'holdfast.lock.renewal.margin',
    description: 'Trusted time left of a lease when the reply to its renewal arrived',
    ...{ type: 'histogram', unit: 's', buckets: MARGINS },
  },
  waiters: {
    metric: 'holdfast.lock.waiters',
    description: 'Calls currently waiting for a lock',
    ...{ type: 'updown', unit: '{call}' },
  },
  held: {
    metric: 'holdfast.lock.held',
    description: 'Locks currently held',
    ...{ type: 'updown', unit: '{lock}' },
  },
  acquisitions: {
    metric: 'holdfast.lock.acquisitions',
    description: 'Completed calls for a lock, by outcome',
    ...{ type: 'counter', unit: '{call}' },
  },
  losses: {
    metric: 'holdfast.lock.losses',
    description: 'Holds that were lost',
    ...{ type: 'counter', unit: '{lock}' },
  },
  renewals: {
    metric: 'holdfast.lock.renewals',
    description: 'Renewals of leases, by result',
    ...{ type: 'counter', unit: '{renewal}' },
  },
} as const

export const TIMED_METRICS = ['wait', 'hold', 'handOff', 'margin'] as const
export type TimedMetric = (typeof TIMED_METRICS)[number]
export type CountedMetric = Exclude<keyof typeof METRICS, TimedMetric>
