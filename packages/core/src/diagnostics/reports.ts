import { ClientClosedError, RedisUnavailableError, type LockLostError } from '../errors.js'
import { OncePerName, warn, type EventHub, type LockEvents } from '../events.js'
import { FixedDelayQueue } from '../runtime/fixed-delay-queue.js'
import type { Clock } from '../runtime/runtime.js'

// Reports about one acquisition: events, and a process warning when silence would hide a loss.

interface Reporting {
  readonly events: EventHub
}

interface Reported {
  readonly lockName: string
  readonly owner: string
  readonly trustedForMs: number
  /** `isObserved`: the user observes the loss, through the signal or a listener. */
  readonly loss: { readonly isObserved: boolean }
}

// Enough for another process to call `trySetPermits`.
const TO_SET_PERMITS_MS = 2_000

const warnedOfLoss = new OncePerName()
const warnedOfNoPermits = new OncePerName()

export function reportLoss(session: Reporting, of: Reported, error: LockLostError): void {
  const { lockName, owner } = of
  session.events.observer?.lost(lockName, owner, error.reason)
  if (session.events.hasListeners('lost')) {
    session.events.emit('lost', { lockName, owner, error })
  } else if (!of.loss.isObserved && error.reason !== 'closed' && warnedOfLoss.take(lockName)) {
    warn('HOLDFAST_LOST', `${error.message} There is no listener: use hold.signal, or on('lost', ...).`)
  }
}

/** @param failingForMs since when those of this hold have failed */
export function reportFailedRenewal(
  session: Reporting & { readonly outages: { renewalFailed(error: unknown, failingForMs: number): void } },
  of: Reported,
  error: unknown,
  failingForMs: number,
): void {
  session.outages.renewalFailed(error, failingForMs)
  if (session.events.hasListeners('renewal-failed')) {
    const { lockName, owner, trustedForMs } = of
    session.events.emit('renewal-failed', { lockName, owner, error, trustedForMs })
  }
}

/** A hold or permit that is trusted for as long as Redis confirms it. */
export interface Trusted {
  readonly lockName: string
  readonly trustedForMs: number
}

const MOST_NAMES_TOLD = 3

/**
 * An event each time; without listeners, one process warning per client.
 * @param hasWarned whether this client has given it
 * @returns whether it has now
 */
export function reportUnreachable(
  events: EventHub,
  error: RedisUnavailableError,
  held: readonly Trusted[],
  hasWarned: boolean,
): boolean {
  const lockNames = [...new Set(held.map(({ lockName }) => lockName))]
  const trustedForMs = Math.min(...held.map((each) => each.trustedForMs))
  if (events.hasListeners('unreachable')) {
    events.emit('unreachable', { lockNames, trustedForMs, error })
    return hasWarned
  }
  if (!hasWarned) {
    const more = lockNames.length - MOST_NAMES_TOLD
    const names = lockNames.slice(0, MOST_NAMES_TOLD).map((name) => `"${name}"`)
    const what = more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ')
    warn(
      'HOLDFAST_UNREACHABLE',
      `${error.message} Held there: ${what}. ${untilLost(trustedForMs)} To hear of every outage, use ` +
        "on('unreachable', ...).",
    )
  }
  return true
}

function untilLost(trustedForMs: number): string {
  const lost = 'the signal of the hold aborts, and withLock() rejects with LockLostError'
  return trustedForMs > 0
    ? `No other caller can get it for another ${(trustedForMs / 1_000).toFixed(1)} s, and work may go on. If Redis does ` +
        `not answer by then, ${lost}.`
    : `Until Redis has confirmed it, hold.ensure() throws; if Redis does not before the lease must have ended, ${lost}.`
}

/** Endless waits for a semaphore that does not exist, each with what its client knows of the semaphore. */
export type MissingSemaphores = FixedDelayQueue<
  { readonly lockName: string },
  { readonly isMissing: boolean }
>

/** Warns of those that do not end in time, unless the event 'waiting' has a listener. */
export function missingSemaphores(events: EventHub, clock: Clock): MissingSemaphores {
  return new FixedDelayQueue(clock, {
    delayMs: TO_SET_PERMITS_MS,
    due: ({ lockName }, { isMissing }) => {
      if (isMissing && !events.hasListeners('waiting') && warnedOfNoPermits.take(lockName)) {
        const what = `A caller waits without a limit for permits of semaphore "${lockName}", which does not exist.`
        warn('HOLDFAST_NO_PERMITS', `${what} Call trySetPermits(n) once, or give the wait a waitMs.`)
      }
    },
  })
}

/** Every retry has failed, or the client was closed. */
export function reportFailedRelease(
  { events }: Reporting,
  { lockName, owner }: { readonly lockName: string; readonly owner: string },
  failure: unknown,
): void {
  const error = failure instanceof ClientClosedError ? cutOff(lockName, failure) : failure
  if (error instanceof RedisUnavailableError) {
    events.emit('release-failed', { lockName, owner, error })
  }
}

function cutOff(lockName: string, cause: ClientClosedError): RedisUnavailableError {
  const message =
    'The client was closed before Redis confirmed the release. The lock is free when its lease ends, at the latest. ' +
    'Await releases before close(), or give close() a longer graceMs.'
  return new RedisUnavailableError(message, { outcome: 'not-sent', transient: false, lockName, cause })
}

/** Per client: an event each time; without listeners, one process warning. */
export function unexpectedReplies(events: EventHub): (details: LockEvents['unexpected-reply']) => void {
  let hasWarned = false
  return (details) => {
    if (events.hasListeners('unexpected-reply')) {
      events.emit('unexpected-reply', details)
    } else if (!hasWarned) {
      hasWarned = true
      warn(
        'HOLDFAST_REPLY',
        `${details.error.message} There is no listener: use on('unexpected-reply', ...).`,
      )
    }
  }
}
