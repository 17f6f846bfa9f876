import { AsyncLocalStorage } from 'node:async_hooks'
import { NotLockOwnerError } from '../../index.js'
import { oncePerProcess } from '../door.js'

interface Assertable {
  readonly name: string
  assertLocked(): void
}

const runs = oncePerProcess('schedule-run', () => new AsyncLocalStorage<Assertable>())

export function inRun<T>(run: Assertable, work: () => T): T {
  return runs.run(run, work)
}

/**
 * Asserts locally, without a round trip, that the caller runs inside a task of `exclusive` that still holds its lock.
 * For code that must only run under a schedule.
 * @param name the schedule; default: any
 * @throws NotLockOwnerError outside; LockLostError inside, but the lock was lost
 */
export function assertLocked(name?: string): void {
  const run = runs.getStore()
  if (!run || (name !== undefined && name !== run.name)) {
    const where = run ? `in the schedule "${run.name}"` : 'outside any schedule'
    throw new NotLockOwnerError(name, `the call is ${where}. Call it in a task of exclusive()`)
  }
  run.assertLocked()
}
