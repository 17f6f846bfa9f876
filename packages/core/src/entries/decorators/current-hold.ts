import { AsyncLocalStorage } from 'node:async_hooks'
import type { LockHold } from '../../index.js'
import { oncePerProcess } from '../door.js'

const holds = oncePerProcess('current-hold', () => new AsyncLocalStorage<LockHold | undefined>())

/**
 * Returns the hold of the innermost decorated method around the caller: its `signal` reports a loss, `ensure` and
 * `verify` check for one. Undefined outside decorated methods, and in one that runs without its lock
 * (`onRedisError: 'run'`).
 */
export function currentHold(): LockHold | undefined {
  return holds.getStore()
}

export function inHold<T>(hold: LockHold | undefined, work: () => T): T {
  return holds.run(hold, work)
}
