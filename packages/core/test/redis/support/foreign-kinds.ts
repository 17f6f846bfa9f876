import type { AnyLock, LockClient } from '../../../src/index.js'
import type { ForeignLocks } from '../../../src/arguments/foreign-locks.js'

/** A kind of lock under a plain name, made with options of its own. */
export interface ForeignKind {
  readonly name: string
  of(locks: LockClient, name: string, foreignLocks?: ForeignLocks): AnyLock
}

const kind = (name: string, of: ForeignKind['of']): ForeignKind => ({ name, of })

/** Every kind of lock that the string of another library may keep out, but for those of several nodes. */
export const foreignKinds: readonly ForeignKind[] = [
  kind('plain', (locks, name, foreignLocks) => locks.getLock(name, { foreignLocks })),
  kind('fair', (locks, name, foreignLocks) => locks.getFairLock(name, { foreignLocks })),
  kind('fenced', (locks, name, foreignLocks) => locks.getFencedLock(name, { foreignLocks })),
  kind('spin', (locks, name, foreignLocks) => locks.getSpinLock(name, { foreignLocks })),
  kind('non-reentrant', (locks, name, foreignLocks) => locks.getNonReentrantLock(name, { foreignLocks })),
  kind('non-reentrant fair', (locks, name, foreignLocks) =>
    locks.getNonReentrantFairLock(name, { foreignLocks }),
  ),
  kind('read', (locks, name, foreignLocks) => locks.getReadWriteLock(name, { foreignLocks }).readLock()),
  kind('write', (locks, name, foreignLocks) => locks.getReadWriteLock(name, { foreignLocks }).writeLock()),
  kind('multi', (locks, name, foreignLocks) =>
    locks.getMultiLock(locks.getLock(`${name}:other`), locks.getLock(name, { foreignLocks })),
  ),
]

/** The value that a library of string locks writes. */
export const TOKEN = '4f3c9d21e07ab86d5512c0aa9e4410bb'
