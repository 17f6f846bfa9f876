import type { ExecutionStats } from './ballot.js'

/** Somebody else has one of the resources, or this lock has none of them any more. */
export class ResourceLockedError extends Error {
  override readonly name = 'ResourceLockedError'
}

/** Too few of the Redis clients agreed; `attempts` says what each of them answered. */
export class ExecutionError extends Error {
  override readonly name = 'ExecutionError'

  constructor(
    message: string,
    readonly attempts: readonly Promise<ExecutionStats>[],
  ) {
    super(message)
  }
}

/** A vote against, in the words that callers of redlock look for. */
export function refused(resources: number, cause?: Error | null): ResourceLockedError {
  return new ResourceLockedError(
    `The operation was applied to: 0 of the ${resources} requested resources.`,
    cause ? { cause } : undefined,
  )
}
