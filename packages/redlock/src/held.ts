import type { Taken } from './taken.js'

const taken = new WeakMap<object, Taken>()

/** The hold behind a lock of this package; undefined for one that somebody else has made. */
export function heldBy(lock: object): Taken | undefined {
  return taken.get(lock)
}

export function keep(lock: object, held: Taken): void {
  taken.set(lock, held)
}

/** Released: nothing is held any more, whatever becomes of the lock object. */
export function forget(lock: object): void {
  taken.delete(lock)
}
