// eslint-disable-next-line no-restricted-imports -- the clock is BullMQ's: the client, and its runtime, are closed
import { setTimeout } from 'node:timers/promises'
import { DelayedError, type Job } from 'bullmq'
import {
  InvalidArgumentError,
  type ClientClosedError,
  type LockBusyError,
  type LockTimeoutError,
} from '@holdfast/core'
import { defaultDelay } from './default-delay.js'
import { checkDelay } from './options.js'

/**
 * Returns the job to the queue as delayed, without using up an attempt.
 * @returns the error that tells the worker that the job is no longer its own
 */
export async function postpone<J extends Job>(
  job: J,
  token: string | undefined,
  conflict: {
    readonly error: LockTimeoutError | LockBusyError
    readonly delayMs: number | ((job: J) => number) | undefined
  },
): Promise<DelayedError> {
  // eslint-disable-next-line no-restricted-properties -- only that jobs differ matters
  const { error, delayMs = defaultDelay(job.attemptsStarted, Math.random()) } = conflict
  const pauseMs = typeof delayMs === 'function' ? delayMs(job) : delayMs
  checkDelay(pauseMs)
  return moved(job, token, { pauseMs, error })
}

const CLOSING_MS = 1_000

/**
 * Returns a job whose client is closing, and then keeps the worker's slot for half of the delay: until the worker is closed
 * too, it would otherwise go through the whole queue again and again. By the end of the delay another process, or this worker
 * with its next client, can take the job.
 */
export async function putBack(
  job: Job,
  token: string | undefined,
  error: ClientClosedError,
): Promise<DelayedError> {
  const delayed = await moved(job, token, { pauseMs: CLOSING_MS, error })
  await setTimeout(CLOSING_MS / 2)
  return delayed
}

async function moved(
  job: Job,
  token: string | undefined,
  { pauseMs, error }: { readonly pauseMs: number; readonly error: Error },
): Promise<DelayedError> {
  if (token === undefined) {
    throw new InvalidArgumentError('token', token, "the worker's token, if a job is to be delayed")
  }
  // BullMQ takes a wall-clock time and at once subtracts this process's own: only the difference matters.
  // eslint-disable-next-line no-restricted-properties
  await job.moveToDelayed(Date.now() + pauseMs, token)
  const delayed = new DelayedError(`delayed by ${pauseMs} ms: ${error.message}`)
  return Object.assign(delayed, { cause: error })
}
