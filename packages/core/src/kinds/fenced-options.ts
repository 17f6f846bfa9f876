import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkInteger, checkOneOf, checkOptions } from '../arguments/validate.js'
import { LOCK_OPTIONS, type LockOptions } from './lock-options.js'

/** All clients of one lock should use the same options. */
export interface FencedLockOptions extends LockOptions {
  /**
   * How the next token is chosen. `'counter'` (default), as in Redisson: the last one + 1. If Redis has lost the last
   * one (a restart without data, FLUSHALL, an expired counter), tokens start again at 1, and a guard that has seen
   * larger ones rejects them. `'time'`: at least the clock of Redis in microseconds, so that tokens keep growing even
   * then, unless that clock was set back by more than the time elapsed since.
   */
  tokens?: 'counter' | 'time' | undefined
  /**
   * Lifetime of the counter after the latest acquisition, in ms. Default: for ever, as in Redisson: one small key for
   * every name ever locked. With `'counter'`, choose it longer than any guard remembers tokens.
   */
  tokenTtlMs?: number | undefined
}

const FENCED_LOCK_OPTIONS: KnownKeys<FencedLockOptions> = {
  tokens: true,
  tokenTtlMs: true,
  ...LOCK_OPTIONS,
}

/** Validated, with defaults. */
export interface TokenRule {
  readonly tokens: 'counter' | 'time'
  readonly tokenTtlMs: number | undefined
}

/** @throws InvalidArgumentError */
export function tokenRuleOf(options: FencedLockOptions = {}): TokenRule {
  checkOptions('options', options, FENCED_LOCK_OPTIONS)
  const { tokens = 'counter', tokenTtlMs } = options
  checkOneOf('tokens', tokens, ['counter', 'time'])
  if (tokenTtlMs !== undefined) {
    checkInteger('tokenTtlMs', tokenTtlMs, 1)
  }
  return { tokens, tokenTtlMs }
}
