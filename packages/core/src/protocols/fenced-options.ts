import type { KnownKeys } from '../arguments/unknown-key.js'
import { checkInteger, checkOneOf, checkOptions } from '../arguments/validate.js'

/** Every client of one lock should be given the same. */
export interface FencedLockOptions {
  /**
   * Where the next token comes from. `'counter'` (default), as in Redisson: the last one + 1; when Redis has lost
   * the last one (a restart without data, FLUSHALL, an expired counter), tokens start again at 1, and a guard that
   * has seen larger ones refuses them. `'time'`: at least the clock of Redis in microseconds, so that tokens go on
   * growing all the same, unless that clock was set back by more than the time since.
   */
  tokens?: 'counter' | 'time' | undefined
  /**
   * How long the counter lives after the latest acquisition, in ms. Default: for ever, as in Redisson: one small
   * key for every name that was ever locked. With `'counter'` make it longer than any guard remembers.
   */
  tokenTtlMs?: number | undefined
}

const FENCED_LOCK_OPTIONS: KnownKeys<FencedLockOptions> = { tokens: true, tokenTtlMs: true }

/** Checked, with defaults. */
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
