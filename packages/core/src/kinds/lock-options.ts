import { foreignRuleOf, type ForeignLocks, type ForeignRule } from '../arguments/foreign-locks.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkLinger } from '../arguments/linger.js'
import { checkOptions } from '../arguments/validate.js'
import type { KindServices } from './services.js'

/** Options of one lock, of any kind. */
export interface LockOptions {
  /** Overrides the client's `foreignLocks`. All lock objects of one name should have the same. */
  foreignLocks?: ForeignLocks | undefined
}

/** Options of a lock that `getLock` returns. */
export interface PlainLockOptions extends LockOptions {
  /** Overrides the client's `lingerMs`; 0: this lock does not linger. */
  lingerMs?: number | undefined
}

export const LOCK_OPTIONS: KnownKeys<LockOptions> = { foreignLocks: true }
const PLAIN_LOCK_OPTIONS: KnownKeys<PlainLockOptions> = { ...LOCK_OPTIONS, lingerMs: true }

/** How long the lock may linger, by its own option or its client's; undefined: not at all. @throws InvalidArgumentError */
export function lingerOf(session: KindServices, options: PlainLockOptions): number | undefined {
  checkOptions('options', options, PLAIN_LOCK_OPTIONS)
  checkLinger(options.lingerMs, session.options)
  return (options.lingerMs ?? session.options.lingerMs) || undefined
}

/** @throws InvalidArgumentError */
export function checkLockOptions(options: LockOptions | undefined): void {
  if (options !== undefined) {
    checkOptions('options', options, LOCK_OPTIONS)
  }
}

/** The lock's own rule, or that of its client. @throws InvalidArgumentError */
export function foreignRuleIn(session: KindServices, { foreignLocks: given }: LockOptions): ForeignRule {
  return given === undefined ? session.options.foreignLocks : foreignRuleOf(given)
}
