import { ClientClosedError, RedisUnavailableError, type LockLostError } from '../errors.js'
import { OncePerName, warn, type EventHub } from '../events.js'
import type { Loss } from '../hold.js'
import type { CommandTrouble } from '../redis/script-command.js'
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
  readonly loss: Pick<Loss, 'isObserved'>
}

// Enough for another process to call `trySetPermits`.
const TO_SET_PERMITS_MS = 2_000

const warnedOfLoss = new OncePerName()
const warnedOfNoPermits = new OncePerName()

export function reportLoss(session: Reporting, of: Reported, error: LockLostError): void {
  const { lockName, owner } = of
  if (session.events.hasListeners('lost')) {
    session.events.emit('lost', { lockName, owner, error })
  } else if (!of.loss.isObserved && error.reason !== 'closed' && warnedOfLoss.take(lockName)) {
    warn('HOLDFAST_LOST', `${error.message} There is no listener: use hold.signal, or on('lost', ...).`)
  }
}

export function reportFailedRenewal(session: Reporting, of: Reported, error: unknown): void {
  if (session.events.hasListeners('renewal-failed')) {
    const { lockName, owner, trustedForMs } = of
    session.events.emit('renewal-failed', { lockName, owner, error, trustedForMs })
  }
}

/** Endless waits for a semaphore that does not exist, each with what its client knows of the semaphore. */
export type MissingSemaphores = FixedDelayQueue<
  { readonly lockName: string },
  { readonly isMissing: boolean }
>

/** Warns of those that do not end in time, unless a listener of 'waiting' is told of them. */
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
  const message = 'The client was closed before Redis confirmed the release.'
  return new RedisUnavailableError(message, { outcome: 'not-sent', transient: false, lockName, cause })
}

/** Per client: an event each time; without listeners, one process warning. */
export function unexpectedReplies(events: EventHub): CommandTrouble['unexpected'] {
  let hasWarned = false
  return ({ reply }, error, { lockName, script }) => {
    if (events.hasListeners('unexpected-reply')) {
      events.emit('unexpected-reply', { lockName, script: script.name, reply, error })
    } else if (!hasWarned) {
      hasWarned = true
      warn('HOLDFAST_REPLY', `${error.message} There is no listener: use on('unexpected-reply', ...).`)
    }
  }
}
