const isReentrant = !process.argv.includes('--not-reentrant')

/** The kind of lock of all services: `--not-reentrant` shows what they would run into. */
export const reentrant = (locks, name) =>
  isReentrant ? locks.getLock(name) : locks.getNonReentrantLock(name)
