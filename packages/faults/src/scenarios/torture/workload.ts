import type { LockClient } from '@holdfast/core'
import type { History } from '../../run/history-file.js'
import type { SeededRandom } from '../../harness/seeded-random.js'
import { LOCK_KINDS } from '../../workload/lock-kinds.js'
import type { Register } from '../../workload/register.js'

/** Permits without an end, permits that end, and latches: nothing is promised of them where Redis loses its data. */
export const PERMIT_KINDS = ['semaphore', 'permits', 'latch'] as const
export type PermitKind = (typeof PERMIT_KINDS)[number]

export const KINDS = [...LOCK_KINDS, 'election', 'share', 'journey', ...PERMIT_KINDS] as const
export type Kind = (typeof KINDS)[number]

export const isPermitKind = (kind: Kind): kind is PermitKind =>
  (PERMIT_KINDS as readonly string[]).includes(kind)

/** The parts that one caller of a process works with. */
export interface CallerParts {
  /** The name of the caller. */
  readonly name: string
  readonly locks: LockClient
  readonly history: History
  readonly register: Register
  readonly random: SeededRandom
  readonly leaseMs: number
  /** The locks that it wants. */
  readonly names: readonly string[]
}

const LONGEST_STEP_MS = 25
const LONG_MS = 200

/** How long a part of some work takes: mostly moments, and now and then as long as work of a service does. */
export const workMs = (random: SeededRandom): number =>
  random.chance(0.04) ? LONG_MS : random.between(0, LONGEST_STEP_MS)
