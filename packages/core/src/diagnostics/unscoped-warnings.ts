import { OncePerName, warn } from '../events.js'
import { originInWords } from './call-origins.js'

// Warnings about calls outside contexts, at most one for each name of a lock in a process.

const warnedOf = new OncePerName()

type Origin = Error | null | undefined

export function isUnscopedWarningDue(lockName: string): boolean {
  return !warnedOf.has(lockName)
}

/** A wait without a limit for what its own client has taken by hand, and still has. */
export function warnOfSelfWait(lockName: string, waitedMs: number, waiting: Origin, holding: Origin): void {
  if (warnedOf.take(lockName)) {
    warn(
      'HOLDFAST_BARE_CALLS',
      `Lock "${lockName}": a call outside any context has waited for ${waitedMs} ms for a lock that this very client ` +
        'holds, and its wait has no limit. If the code that waits is part of the code that holds the lock, or if the ' +
        'release was forgotten, the wait never ends: outside contexts no call re-enters. Ways out: (1) make both calls ' +
        'inside one context, lock.withLock(callback) or locks.run(callback): there they re-enter; (2) pass the hold of ' +
        'acquire() on instead of acquiring again, or make both calls through one locks.thread(); (3) limit the wait, ' +
        'as in acquire({ waitMs }), withLock(callback, { waitMs }) or tryLock(waitMs).',
      `\nWaiting: ${originInWords(waiting)}\nHolding: ${originInWords(holding)}`,
    )
  }
}

/** `unlock()` by the caller that `tryLock()` has just refused: it releases the hold of another. */
export function warnOfRefusedUnlock(lockName: string, unlocking: Origin, holding: Origin): void {
  if (warnedOf.take(lockName)) {
    warn(
      'HOLDFAST_BARE_CALLS',
      `Lock "${lockName}": unlock() was called by a caller that tryLock() had refused. ${REFUSED_UNLOCK} ` +
        'Here it released the hold that another call had taken.',
      `\nUnlocking: ${originInWords(unlocking)}\nHolding: ${originInWords(holding)}`,
    )
  }
}

/** The mistake, and what to write instead. */
export const REFUSED_UNLOCK =
  'A tryLock() that returned false holds nothing, so its `finally` must not unlock: write ' +
  '`if (await lock.tryLock()) { try { … } finally { await lock.unlock() } }`, or use lock.withLock(callback). In locks.run(callback) such an unlock() is an error.'
