import { foreignRuleOf, type ForeignLocks, type ForeignRule } from '../arguments/foreign-locks.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkOptions } from '../arguments/validate.js'
import type { KindServices } from './services.js'

/** Options of one lock, of any kind. */
export interface LockOptions {
  /** Overrides the client's `foreignLocks`. All lock objects of one name should have the same. */
  foreignLocks?: ForeignLocks | undefined
}

export const LOCK_OPTIONS: KnownKeys<LockOptions> = { foreignLocks: true }

/** @throws InvalidArgumentError */
export function checkLockOptions(options: LockOptions | undefined): void {
  if (options !== undefined) {
    checkOptions('options', options, LOCK_OPTIONS)
  }
}

/** The lock's own rule, or that of its client. @throws InvalidArgumentError */
export function foreignRuleIn(session: KindServices, options: LockOptions | undefined): ForeignRule {
  const given = options?.foreignLocks
  return given === undefined ? session.options.foreignLocks : foreignRuleOf(given)
}
