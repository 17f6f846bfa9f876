// What a name stands for: all processes have to agree about it.

export const KINDS = ['semaphore', 'permits', 'latch']

/** As many of each kind, for one round of a run. A latch is made for each of its rounds. */
export const namesFor = (round, kinds, each) =>
  kinds
    .filter((kind) => kind !== 'latch')
    .flatMap((kind) => Array.from({ length: each }, (_, i) => `${kind}:${round}.${i}`))

/** @param {string} name */
export const kindOf = (name) => name.split(':')[0]

/** @param {import('@holdfast/core').LockClient} locks @param {string} name */
export const semaphoreNamed = (locks, name) =>
  kindOf(name) === 'permits' ? locks.getPermitExpirableSemaphore(name) : locks.getSemaphore(name)
