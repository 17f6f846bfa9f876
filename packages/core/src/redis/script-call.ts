import type { Script } from '../scripts/define-script.js'

/** One run of a script. */
export interface ScriptCall<T = unknown> {
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly string[]
  readonly parse: (reply: unknown) => T
  /** For error messages; absent when the call is about many locks. */
  readonly lockName?: string
  /** How long to wait for the answer, ms. Default, and at most: the client's `commandTimeout`. */
  readonly timeoutMs?: number | undefined
}
