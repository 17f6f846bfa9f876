import { channel } from 'node:diagnostics_channel'

/**
 * The node:diagnostics_channel channels on which locks are observed, for exporters of any kind. They carry
 * `ObservedCall`, `ObservedHold` and `ObservedRenewal`. The channels belong to the process: every client publishes on
 * them, whichever copy of this package it comes from. Each event has a channel of its own; without subscribers no
 * message is created and no clock is read.
 *
 * A subscriber runs in the middle of a lock's work and must be fast. If it throws, no lock is harmed, but Node
 * reports an uncaught exception.
 */
export const LOCK_CHANNELS = {
  /** A call for a lock begins. */
  callBegun: 'holdfast.call.begun',
  /** The call has to wait. */
  callParked: 'holdfast.call.parked',
  /** The call has ended, with any outcome. */
  callEnded: 'holdfast.call.ended',
  /** A hold begins. */
  holdBegun: 'holdfast.hold.begun',
  /** A hold ends. */
  holdEnded: 'holdfast.hold.ended',
  /** A renewal got a reply, or failed to. */
  renewal: 'holdfast.renewal',
} as const

/** The part of Node's Channel used here: users need not have Node's types. */
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
