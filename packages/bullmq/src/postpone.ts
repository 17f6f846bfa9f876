import { DelayedError, type Job } from 'bullmq'
import { InvalidArgumentError, type LockTimeoutError } from '@holdfast/core'
import { defaultDelay } from './default-delay.js'
import { checkDelay } from './options.js'

/**
 * Puts the job back as delayed: none of its attempts is used up.
 * @returns what tells the worker that the job is its own no more
 */
export async function postpone<J extends Job>(
  job: J,
  token: string | undefined,
  conflict: { readonly error: LockTimeoutError; readonly delayMs: number | ((job: J) => number) | undefined },
): Promise<DelayedError> {
  if (token === undefined) {
    throw new InvalidArgumentError('token', token, "the worker's token, where a conflict delays the job")
  }
  // eslint-disable-next-line no-restricted-properties -- only that jobs differ matters
  const { error, delayMs = defaultDelay(job.attemptsStarted, Math.random()) } = conflict
  const pauseMs = typeof delayMs === 'function' ? delayMs(job) : delayMs
  checkDelay(pauseMs)
  // BullMQ takes a time of day and subtracts this process's own from it at once: only the difference matters.
  // eslint-disable-next-line no-restricted-properties
  await job.moveToDelayed(Date.now() + pauseMs, token)
  const delayed = new DelayedError(`delayed by ${pauseMs} ms: ${error.message}`)
  return Object.assign(delayed, { cause: error })
}
