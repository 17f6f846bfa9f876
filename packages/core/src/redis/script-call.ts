import type { Script } from './script.js'

/** One run of a script. */
export interface ScriptCall<T = unknown> {
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly string[]
  readonly parse: (reply: unknown) => T
  /**
   * Of a call that may grant a lease: the answer with the number of replicas that acknowledged it. Undefined: it grants
   * nothing. Where the client wants replicas to have its leases, an answer that grants one counts when they have it. Its
   * script writes whenever it grants, a copy too: without a write, WAIT on a new connection counts all replicas at once.
   */
  granted?(value: T, replicas: number): T | undefined
  /** For error messages; absent when the call is about many locks. */
  readonly lockName?: string
  /** How long to wait for the answer, ms. Default, and at most: the client's `commandTimeout`. */
  readonly timeoutMs?: number | undefined
}
