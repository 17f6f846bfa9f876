import { channel } from 'node:diagnostics_channel'

/**
 * The channels of node:diagnostics_channel that locks are seen on, for exporters of any kind. What is published:
 * `ObservedCall`, `ObservedHold`, `ObservedRenewal`. They are of the process: every client publishes on them, whatever
 * copy of this package it is of. Where nobody subscribes, nothing is made, and no clock is read.
 *
 * A subscriber runs in the middle of a lock's work: it has to be short. One that throws harms no lock, but Node makes
 * what it threw an uncaught exception.
 */
export const LOCK_CHANNELS = {
  /** One call for a lock: when it begins, when it has to wait, when it ends. */
  call: 'holdfast.call',
  /** One lock that is held: when it begins, when it ends. */
  hold: 'holdfast.hold',
  /** The answer to a renewal, or that there is none. */
  renewal: 'holdfast.renewal',
} as const

/** What is used of a channel of Node's, whose types a user of this package need not have. */
interface Publisher {
  readonly hasSubscribers: boolean
  publish(message: unknown): void
}

export const calls: Publisher = channel(LOCK_CHANNELS.call)
export const holds: Publisher = channel(LOCK_CHANNELS.hold)
export const renewals: Publisher = channel(LOCK_CHANNELS.renewal)
