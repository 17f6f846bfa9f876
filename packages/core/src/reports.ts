import type { Acquisition } from './acquisition.js'
import { ClientClosedError, RedisUnavailableError, type LockLostError } from './errors.js'
import { OncePerName, warn } from './events.js'
import type { Session } from './session.js'

// What a client tells about one acquisition: as events, and as a process warning where silence would hide a loss.

const warnedOfLoss = new OncePerName()

export function reportLoss(session: Session, of: Acquisition, error: LockLostError): void {
  const { lockName, owner } = of
  if (session.events.hasListeners('lost')) {
    session.events.emit('lost', { lockName, owner, error })
  } else if (!of.loss.isObserved && error.reason !== 'closed' && warnedOfLoss.take(lockName)) {
    warn('HOLDFAST_LOST', `${error.message} Nobody listens: use hold.signal, or on('lost', ...).`)
  }
}

export function reportFailedRenewal(session: Session, of: Acquisition, error: unknown): void {
  if (session.events.hasListeners('renewal-failed')) {
    const { lockName, owner, trustedForMs } = of
    session.events.emit('renewal-failed', { lockName, owner, error, trustedForMs })
  }
}

/** Nobody tries it any more. */
export function reportFailedRelease(
  { events }: Pick<Session, 'events'>,
  { lockName, owner }: { readonly lockName: string; readonly owner: string },
  failure: unknown,
): void {
  const error = failure instanceof ClientClosedError ? cutOff(lockName, failure) : failure
  if (error instanceof RedisUnavailableError) {
    events.emit('release-failed', { lockName, owner, error })
  }
}

function cutOff(lockName: string, cause: ClientClosedError): RedisUnavailableError {
  const message = 'The client was closed before Redis took the release.'
  return new RedisUnavailableError(message, { outcome: 'not-sent', transient: false, lockName, cause })
}
