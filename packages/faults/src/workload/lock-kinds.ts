// The kind of lock that a name stands for: all processes of a run have to agree about it.
import type { LockClient, MultiLock, FencedLock, Lock, ReadWriteLock } from '@holdfast/core'

/** The beginning of the names of each kind. Fenced locks take turns with their sources of tokens. */
const PREFIXES = {
  lock: ['plain'],
  fenced: ['counter', 'time'],
  fair: ['fair'],
  'read-write': ['read-write'],
  spin: ['spin'],
  multi: ['multi'],
} as const

export type LockKind = keyof typeof PREFIXES

export const LOCK_KINDS = Object.keys(PREFIXES) as LockKind[]

/** Equal numbers of each kind, if `count` allows it. */
export const lockNames = (count: number, kinds: readonly LockKind[]): string[] =>
  Array.from({ length: count }, (_, i) => {
    const prefixes = PREFIXES[kinds[i % kinds.length] as LockKind]
    return `${prefixes[Math.floor(i / kinds.length) % prefixes.length]}:${i}`
  })

const prefixOf = (name: string): string => name.split(':')[0] as string

export const kindOf = (name: string): LockKind =>
  LOCK_KINDS.find((kind) => (PREFIXES[kind] as readonly string[]).includes(prefixOf(name))) ?? 'lock'

/** Whether the tokens of what has this name come from the clock of Redis: they grow even when Redis loses its data. */
export const hasLastingTokens = (name: string): boolean => name.split(':').includes('time')

/** Undefined: a lock without tokens. */
export const tokensOf = (name: string): 'counter' | 'time' | undefined =>
  kindOf(name) === 'fenced' ? (prefixOf(name) as 'counter' | 'time') : undefined

export type PlainFace = Lock | FencedLock | MultiLock

/** The lock that a name stands for. A read-write lock has two: see `readWriteNamed`. */
export const lockNamed = (locks: LockClient, name: string): PlainFace => {
  switch (kindOf(name)) {
    case 'fair':
      return locks.getFairLock(name)
    case 'read-write':
      return readWriteNamed(locks, name).writeLock()
    case 'multi':
      // The history follows the first member, whose owner is that of the hold.
      return locks.getMultiLock(locks.getLock(name), locks.getLock(`${name}:second`))
    case 'spin':
      return locks.getSpinLock(name)
    case 'fenced':
      return locks.getFencedLock(name, { tokens: tokensOf(name) ?? 'counter' })
    case 'lock':
      return locks.getLock(name)
  }
}

export const readWriteNamed = (locks: LockClient, name: string): ReadWriteLock => locks.getReadWriteLock(name)

/** Takes it away from whichever client has it. */
export const forceUnlock = async (locks: LockClient, name: string): Promise<boolean> => {
  if (kindOf(name) !== 'read-write') return lockNamed(locks, name).forceUnlock()
  const both = readWriteNamed(locks, name)
  return (await both.writeLock().forceUnlock()) || both.readLock().forceUnlock()
}
