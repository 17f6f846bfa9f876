import type { SeededRandom } from '../../harness/seeded-random.js'
import { chanceOf } from '../world/chance.js'
import { type FaultName, type FaultPlan, nameOf } from './plan.js'

interface Targets {
  readonly names: readonly FaultName[]
  readonly processes: number
  readonly locks: readonly string[]
}

const MOST_FAULTS = 30
const MOST_KINDS_OF_FAULTS = 5
const SPARSE = { kinds: 2, pauseMs: 1_500, longestMs: 150 } as const

/** One fault, with the rest of it from chance. */
const faultFrom = (
  chance: SeededRandom,
  { processes, locks }: Targets,
  { longestMs, ...given }: Pick<FaultPlan, 'id' | 'name' | 'atMs'> & { readonly longestMs: number },
): FaultPlan => ({
  ...{ ...given, lastsMs: chance.between(5, longestMs) },
  ...{ process: nameOf(chance.whole(processes)), isWide: chance.chance(0.3), lock: chance.pick(locks) },
})

/** Each world has a few kinds of faults, now and then: with all of them at once everything would have an excuse. */
const scattered = (
  chance: SeededRandom,
  { isSparse, ...targets }: Targets & { readonly isSparse: boolean },
): FaultPlan[] => {
  const { names } = targets
  if (names.length === 0 || chance.chance(0.2)) return []
  const kinds = 1 + chance.whole(isSparse ? SPARSE.kinds : MOST_KINDS_OF_FAULTS)
  const few = Array.from({ length: kinds }, () => chance.pick(names))
  const usual = [chance.pick([200, 1_000, 3_000]), chance.pick([50, 500, 2_000])] as const
  const [pauseMs, longestMs] = isSparse ? [SPARSE.pauseMs, SPARSE.longestMs] : usual
  let atMs = 0
  return Array.from({ length: MOST_FAULTS }, (_, i) => {
    atMs += chance.between(0, 2 * pauseMs)
    return faultFrom(chance, targets, { id: `f${i}`, name: chance.pick(few), atMs, longestMs })
  })
}

// A stream that no seed of a test draws a meeting from: those seeds keep the worlds that showed a mistake.
const MEETING_STREAM = 'rendezvous'
const MEETING_WORLDS = 0.25
const APART_MS = 1_200
const SAME_TARGET = 0.6

/**
 * Whether faults of two kinds meet in the world of that seed, again and again: a doubt during a doubt, a killed waiter and
 * a clock that is set back.
 */
const doFaultsMeet = (seed: number): boolean => chanceOf(seed, MEETING_STREAM).chance(MEETING_WORLDS)

const meeting = (chance: SeededRandom, targets: Targets): FaultPlan[] => {
  const { names } = targets
  if (names.length === 0) return []
  const [one, other] = [chance.pick(names), chance.pick(names)]
  const longestMs = chance.pick([50, 500, 2_000])
  const pauseMs = chance.pick([500, 2_000])
  let atMs = 0
  const fault = (id: string, name: FaultName): FaultPlan =>
    faultFrom(chance, targets, { id, name, atMs, longestMs })
  return Array.from({ length: MOST_FAULTS / 2 }, (_, i) => {
    atMs += chance.between(0, 2 * pauseMs)
    const [earlier, later] = chance.chance(0.5) ? [one, other] : [other, one]
    const first = fault(`f${2 * i}`, earlier)
    atMs += chance.between(0, APART_MS)
    const second = fault(`f${2 * i + 1}`, later)
    const { process, lock } = first
    return [first, chance.chance(SAME_TARGET) ? { ...second, process, lock } : second]
  }).flat()
}

/** Faults that take permits or counts away without a trace: nobody can say then how many there should be. */
const HARMFUL_TO_COUNTS: ReadonlySet<FaultName> = new Set([
  'server-restarts-empty',
  'fail-over',
  'clock-forward',
  'clock-back',
  'key-vanishes',
  'force-unlock',
])

/** The faults of the world of a seed, in the order of their times. */
export const faultsOf = (
  seed: number,
  {
    names,
    areLocks,
    isSparse,
    ...targets
  }: Targets & { readonly areLocks: boolean; readonly isSparse: boolean },
): FaultPlan[] => {
  const possible = areLocks ? names : names.filter((name) => !HARMFUL_TO_COUNTS.has(name))
  return !isSparse && doFaultsMeet(seed)
    ? meeting(chanceOf(seed, 'meeting faults'), { ...targets, names: possible })
    : scattered(chanceOf(seed, 'faults'), { ...targets, names: possible, isSparse })
}
