import {
  detached,
  isLockError,
  type Hold,
  type LockBusyError,
  type LockHold,
  type LockTimeoutError,
} from '@holdfast/core'
import { nativeSignal } from '@holdfast/core/siblings'
import type { Job, Processor } from 'bullmq'
import { lockOf } from './lock-of.js'
import {
  checkLockedOptions,
  type ConflictOptions,
  type LockByName,
  type LockByObject,
  type LockedOptions,
  type LockedProcessor,
} from './options.js'
import { postpone, putBack } from './postpone.js'

/**
 * Makes a processor whose jobs run under a lock on a resource: two jobs of one resource never run at once, across
 * queues, workers and processes. Inside, the job is one logical thread, so that its calls re-enter its locks; it inherits no
 * context of whoever made the worker.
 *
 * A job fails, and uses up an attempt, if the lock was lost during the work (LockLostError, even if the processor has
 * returned a result), if Redis does not answer (RedisUnavailableError), if `name` returns no valid name
 * (InvalidArgumentError), and on a conflict if `onConflict` says so (LockTimeoutError, LockBusyError). If its client is closing, a job that
 * has not begun goes back to the queue, and uses up no attempt.
 * @throws InvalidArgumentError
 */
export function locked<D, R, N extends string = string>(
  processor: LockedProcessor<Job<D, R, N>, R>,
  options: ConflictOptions<Job<D, R, N>> & LockByName<Job<D, R, N>>,
): Processor<D, R, N>
export function locked<D, R, N extends string = string, H extends LockHold = Hold>(
  processor: LockedProcessor<Job<D, R, N>, R, H>,
  options: ConflictOptions<Job<D, R, N>> & LockByObject<Job<D, R, N>, H>,
): Processor<D, R, N>
export function locked<D, R, N extends string>(
  processor: LockedProcessor<Job<D, R, N>, R>,
  options: LockedOptions<Job<D, R, N>>,
): Processor<D, R, N> {
  checkLockedOptions(processor, options)
  // BullMQ passes its signal only to processors with three parameters; before 5.73 it is a polyfill's.
  // Detached: a worker that is made inside a request keeps that request's context, and its signal, for ever.
  return (job, token, signal) =>
    detached(async () => run(processor, options, { job, token, signal: nativeSignal(signal) }))
}

interface Call<J> {
  readonly job: J
  readonly token: string | undefined
  readonly signal: AbortSignal | undefined
}

async function run<J extends Job, R>(
  processor: LockedProcessor<J, R>,
  options: LockedOptions<J>,
  { job, token, signal }: Call<J>,
): Promise<R> {
  const { onConflict = 'delay', leaseMs, renew, delayMs, maxWaiting } = options
  const waitMs = options.waitMs ?? (onConflict === 'wait' ? undefined : 0)
  let isInside = false as boolean
  const work = (hold: LockHold): Promise<R> | R => {
    isInside = true
    return processor(job, token, signal ? AbortSignal.any([hold.signal, signal]) : hold.signal, hold)
  }
  try {
    return await lockOf(job, options).withLock(work, { waitMs, leaseMs, renew, signal, maxWaiting })
  } catch (error) {
    // The processor's errors are its own, even if another lock was busy for it.
    if (!isInside && onConflict === 'delay' && isConflict(error)) {
      throw await postpone(job, token, { error, delayMs })
    }
    if (!isInside && isLockError(error, 'CLIENT_CLOSED')) {
      throw await putBack(job, token, error)
    }
    throw isInside || error !== signal?.reason ? error : cancelled(job, error)
  }
}

function isConflict(error: unknown): error is LockTimeoutError | LockBusyError {
  return isLockError(error, 'LOCK_TIMEOUT') || isLockError(error, 'LOCK_BUSY')
}

/** BullMQ's reason is a text or undefined, but it stores the message of an error. */
function cancelled(job: Job, reason: unknown): Error {
  if (reason instanceof Error) {
    return reason
  }
  return new Error(`Job ${job.id ?? '?'} was cancelled while it waited: ${String(reason)}`)
}
