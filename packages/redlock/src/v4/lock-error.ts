/** The resource could not be locked, extended or released. */
export class LockError extends Error {
  override readonly name = 'LockError'

  /** @param attempts how often it was tried; 0: not at all */
  constructor(
    message = 'Failed to lock the resource.',
    readonly attempts?: number,
  ) {
    super(message)
  }
}
