import { DelayedError, type Job } from 'bullmq'
import { InvalidArgumentError, type LockTimeoutError } from '@holdfast/core'
import { defaultDelay } from './default-delay.js'
import { checkDelay } from './options.js'

/**
 * Returns the job to the queue as delayed, without using up an attempt.
 * @returns the error that tells the worker that the job is no longer its own
 */
export async function postpone<J extends Job>(
  job: J,
  token: string | undefined,
  conflict: { readonly error: LockTimeoutError; readonly delayMs: number | ((job: J) => number) | undefined },
): Promise<DelayedError> {
  if (token === undefined) {
    throw new InvalidArgumentError('token', token, "the worker's token, if a conflict delays the job")
  }
  // eslint-disable-next-line no-restricted-properties -- only that jobs differ matters
  const { error, delayMs = defaultDelay(job.attemptsStarted, Math.random()) } = conflict
  const pauseMs = typeof delayMs === 'function' ? delayMs(job) : delayMs
  checkDelay(pauseMs)
  // BullMQ takes a wall-clock time and at once subtracts this process's own: only the difference matters.
  // eslint-disable-next-line no-restricted-properties
  await job.moveToDelayed(Date.now() + pauseMs, token)
  const delayed = new DelayedError(`delayed by ${pauseMs} ms: ${error.message}`)
  return Object.assign(delayed, { cause: error })
}
