import { AsyncLocalStorage } from 'node:async_hooks'
import type { LockHold } from '../hold.js'
import { oncePerProcess } from '../runtime/once-per-process.js'

const holds = oncePerProcess('current-hold', () => new AsyncLocalStorage<LockHold | undefined>())

/**
 * The hold of the decorated method around the caller, the innermost: its `signal` tells of its loss, `ensure` and
 * `verify` ask. Undefined outside any, and in a method that runs without its lock (`onRedisError: 'run'`).
 */
export function currentHold(): LockHold | undefined {
  return holds.getStore()
}

export function inHold<T>(hold: LockHold | undefined, work: () => T): T {
  return holds.run(hold, work)
}
