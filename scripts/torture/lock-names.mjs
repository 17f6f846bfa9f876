// What kind of lock a name stands for: all processes have to agree about it.

/** What the names of each kind begin with. Fenced locks take turns with their sources of tokens. */
const PREFIXES = {
  lock: ['plain'],
  fenced: ['counter', 'time'],
  fair: ['fair'],
  'read-write': ['read-write'],
  spin: ['spin'],
  multi: ['multi'],
}

export const KINDS = Object.keys(PREFIXES)

/**
 * As many of each kind as of any other, if `count` allows it.
 *
 * @param {number} count
 * @param {string[]} kinds
 */
export const lockNames = (count, kinds) =>
  Array.from({ length: count }, (_, i) => {
    const prefixes = PREFIXES[kinds[i % kinds.length]]
    return `${prefixes[Math.floor(i / kinds.length) % prefixes.length]}:${i}`
  })

const prefixOf = (name) => name.split(':')[0]

/** @param {string} name */
export const kindOf = (name) => KINDS.find((kind) => PREFIXES[kind].includes(prefixOf(name)))

/** @returns {'counter' | 'time' | undefined} undefined: a lock without tokens */
export const tokensOf = (name) => (kindOf(name) === 'fenced' ? prefixOf(name) : undefined)

/**
 * The lock that a name stands for, or both of a read-write lock.
 *
 * @param {import('@holdfast/core').LockClient} locks
 * @param {string} name
 */
export const lockNamed = (locks, name) => {
  switch (kindOf(name)) {
    case 'fair':
      return locks.getFairLock(name)
    case 'read-write':
      return locks.getReadWriteLock(name)
    case 'multi':
      // The history follows the first member, whose owner is that of the hold.
      return locks.getMultiLock(locks.getLock(name), locks.getLock(`${name}:second`))
    case 'spin':
      return locks.getSpinLock(name)
    case 'fenced':
      return locks.getFencedLock(name, { tokens: tokensOf(name) })
    default:
      return locks.getLock(name)
  }
}

/** @param {import('@holdfast/core').LockClient} locks @param {string} name */
export const forceUnlock = async (locks, name) => {
  const lock = lockNamed(locks, name)
  if (kindOf(name) !== 'read-write') return lock.forceUnlock()
  return (await lock.writeLock().forceUnlock()) || lock.readLock().forceUnlock()
}
