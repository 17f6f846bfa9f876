import { kindOf } from '../../workload/lock-kinds.js'

/** The hashes of a lock in Redis: a multi lock has two. */
export const keysOf = (lock: string): readonly string[] =>
  kindOf(lock) === 'multi' ? [lock, `${lock}:second`] : [lock]
