// What a name stands for: all processes have to agree about it.
import type { LockClient, PermitExpirableSemaphore, Semaphore } from '@holdfast/core'

/** Permits without an end, permits that end, and latches. */
export const KINDS = ['semaphore', 'permits', 'latch'] as const

export type SemaphoreKind = (typeof KINDS)[number]

/** As many of each kind, for one round of a run. A latch is made for each of its rounds. */
export const namesFor = (round: number | string, kinds: readonly SemaphoreKind[], each: number): string[] =>
  kinds
    .filter((kind) => kind !== 'latch')
    .flatMap((kind) => Array.from({ length: each }, (_, i) => `${kind}:${round}.${i}`))

export const kindOf = (name: string): SemaphoreKind => name.split(':')[0] as SemaphoreKind

export const semaphoreNamed = (locks: LockClient, name: string): Semaphore | PermitExpirableSemaphore =>
  kindOf(name) === 'permits' ? locks.getPermitExpirableSemaphore(name) : locks.getSemaphore(name)
