/** The mutex was not acquired within `acquireTimeout`, or within `acquireAttemptsLimit` attempts. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

/** The mutex was lost while it was refreshed; `cause` is the LockLostError of Holdfast. */
export class LostLockError extends Error {
  override readonly name = 'LostLockError'
}
