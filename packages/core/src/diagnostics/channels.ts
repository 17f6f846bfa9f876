import { channel } from 'node:diagnostics_channel'

/**
 * The channels of node:diagnostics_channel that locks are seen on, for exporters of any kind. What is published:
 * `ObservedCall`, `ObservedHold`, `ObservedRenewal`. They are of the process: every client publishes on them, whatever
 * copy of this package it is of. Each moment has a channel of its own, so that nobody pays for what nobody hears: where
 * nobody subscribes, nothing is made, and no clock is read.
 *
 * A subscriber runs in the middle of a lock's work: it has to be short. One that throws harms no lock, but Node makes
 * what it threw an uncaught exception.
 */
export const LOCK_CHANNELS = {
  /** A call for a lock begins. */
  callBegun: 'holdfast.call.begun',
  /** It has to wait. */
  callParked: 'holdfast.call.parked',
  /** It is over, whatever came of it. */
  callEnded: 'holdfast.call.ended',
  /** A lock is held. */
  holdBegun: 'holdfast.hold.begun',
  /** It is not any more. */
  holdEnded: 'holdfast.hold.ended',
  /** The answer to a renewal, or that there is none. */
  renewal: 'holdfast.renewal',
} as const

/** What is used of a channel of Node's, whose types a user of this package need not have. */
interface Publisher {
  readonly hasSubscribers: boolean
  publish(message: unknown): void
}

export const callBegun: Publisher = channel(LOCK_CHANNELS.callBegun)
export const callParked: Publisher = channel(LOCK_CHANNELS.callParked)
export const callEnded: Publisher = channel(LOCK_CHANNELS.callEnded)
export const holdBegun: Publisher = channel(LOCK_CHANNELS.holdBegun)
export const holdEnded: Publisher = channel(LOCK_CHANNELS.holdEnded)
export const renewals: Publisher = channel(LOCK_CHANNELS.renewal)
