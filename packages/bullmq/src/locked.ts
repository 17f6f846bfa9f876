import type { Hold, LockHold, LockTimeoutError } from '@holdfast/core'
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
import { postpone } from './postpone.js'

/**
 * A processor whose jobs hold a resource while they run: two jobs of one resource never run at once, whatever queue,
 * worker or process they are in. Inside it the job is one logical thread, so what it calls re-enters its locks.
 *
 * The job fails, with the attempt that this costs: when the resource was lost in the middle (LockLostError, also when
 * the processor has returned a result), when Redis does not answer (RedisUnavailableError), when `name` gives no name
 * (InvalidArgumentError), and on a conflict where `onConflict` says so (LockTimeoutError).
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
  // BullMQ gives its signal to processors that name three parameters, and counts them.
  return (job, token, signal) => run(processor, options, { job, token, signal })
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
  const { onConflict = 'delay', leaseMs, delayMs } = options
  const waitMs = options.waitMs ?? (onConflict === 'wait' ? undefined : 0)
  let isInside = false as boolean
  const work = (hold: LockHold): Promise<R> | R => {
    isInside = true
    return processor(job, token, signal ? AbortSignal.any([hold.signal, signal]) : hold.signal, hold)
  }
  try {
    return await lockOf(job, options).withLock(work, { waitMs, leaseMs, signal })
  } catch (error) {
    // What the processor throws is its own, also when another lock was busy for it.
    if (!isInside && onConflict === 'delay' && isConflict(error)) {
      throw await postpone(job, token, { error, delayMs })
    }
    throw isInside || error !== signal?.reason ? error : cancelled(job, error)
  }
}

function isConflict(error: unknown): error is LockTimeoutError {
  return error instanceof Error && 'code' in error && error.code === 'LOCK_TIMEOUT'
}

/** BullMQ's reason is a text, or nothing: it keeps the message of an error. */
function cancelled(job: Job, reason: unknown): Error {
  if (reason instanceof Error) {
    return reason
  }
  return new Error(`Job ${job.id ?? '?'} was cancelled while it waited: ${String(reason)}`)
}
