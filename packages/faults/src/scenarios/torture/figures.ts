// Figures of a run of the torture besides what the history checker says: waits, shares, and when losses were told.
import type { HistoryEvent } from '@holdfast/faults/harness'
import { callsIn } from '../../workload/calls-in.js'
import { PARTS } from '../../workload/vanishing.js'
import { turnOf } from '../../workload/victim.js'
import type { TortureValues } from './options.js'

export interface Found {
  readonly lines: readonly string[]
  readonly violations: readonly string[]
}

interface Served {
  readonly lock: string
  readonly process: string
  readonly ms: number
}

/** Each call that was served, and how long it took. */
const servedIn = (events: readonly HistoryEvent[]): Served[] =>
  callsIn(events)
    .filter(({ end }) => end.kind === 'acquired')
    .map(({ begin: { lock, process, atMs }, end }) => ({ lock, process, ms: end.atMs - atMs }))

const longest = (served: readonly Served[]): number =>
  Math.round(served.reduce((most, { ms }) => Math.max(most, ms), 0))

const by = (served: readonly Served[], keyOf: (each: Served) => string): [string, Served[]][] => {
  const groups = new Map<string, Served[]>()
  for (const each of served) {
    const group = groups.get(keyOf(each))
    if (group) group.push(each)
    else groups.set(keyOf(each), [each])
  }
  return [...groups].sort(([a], [b]) => a.localeCompare(b))
}

/** How often each kind of lock was had, and the longest wait for it. */
export const waitsIn = (events: readonly HistoryEvent[]): Found => {
  const kinds = by(servedIn(events), ({ lock }) => lock.split(':')[0] ?? '')
  const said = kinds.map(([kind, served]) => `${kind} ${served.length} (${longest(served)} ms)`)
  return { lines: [`by kind, with the longest wait: ${said.join(', ')}`], violations: [] }
}

const KINDS_OF_PROCESSES = 3
/** The least part of an equal share, without faults: far processes and slow ones get less, but nobody is kept out. */
const LEAST_SHARE = 0.2
const ENOUGH = 500

/** Which part of all each kind of process had, by its distance and its speed. */
export const sharesIn = (
  events: readonly HistoryEvent[],
  { distances, faults, processes, kinds }: TortureValues,
): Found => {
  const wanted = servedIn(events).filter(({ lock }) => !/^(election|share|journey):/.test(lock))
  const groups = by(wanted, ({ process }) => turnOf(process, ['0', '1', '2']))
  const shareOf = (served: readonly Served[]): number => served.length / wanted.length
  const said = groups.map(([turn, served]) => {
    const distance = turnOf(`worker-${turn}`, distances)
    const part = `${(100 * shareOf(served)).toFixed(0)} % at ${distance} ms${turn === '1' ? ', slow' : ''}`
    return `${part} (${longest(served)} ms)`
  })
  const least = LEAST_SHARE / KINDS_OF_PROCESSES
  const isTold = faults.length === 0 && processes === KINDS_OF_PROCESSES && wanted.length >= ENOUGH
  const starved = groups.filter(([, served]) => shareOf(served) < least)
  // A spin lock goes to whoever asks first, and nobody waits in the queue for a multi lock.
  const isFair = !kinds.includes('spin') && !kinds.includes('multi')
  return {
    lines: said.length > 0 ? [`shares, with the longest wait: ${said.join('; ')}`] : [],
    violations:
      isTold && isFair
        ? starved.map(
            ([turn, served]) => `I15 processes ${turn} of three had ${served.length} of ${wanted.length}`,
          )
        : [],
  }
}

/** A run of so long meets every part. */
const WHOLE_MINUTES = 5
/** The parts of keys that only semaphores have. */
const OF_PERMITS = 'operations'

/** Which keys vanished, and how long after its lock had gone a holder was told of it. */
export const goneIn = (
  events: readonly HistoryEvent[],
  { faults, lease, minutes, kinds }: TortureValues,
): Found => {
  if (!faults.includes('key-vanishes')) return { lines: [], violations: [] }
  const vanished = events.flatMap((event) => (event as { readonly part?: string }).part ?? [])
  const goneAt = new Map<string, number>()
  const takenAt = new Map<string, number>()
  const delays: number[] = []
  for (const event of events) {
    if (event.kind === 'fault' && event.class === 'lock-loss' && event.lock !== undefined)
      goneAt.set(event.lock, event.atMs)
    if (event.kind === 'acquired') takenAt.set(event.owner, event.atMs)
    const at = event.kind === 'lost' && event.reason === 'gone' ? goneAt.get(event.lock) : undefined
    // A release finds a lease that has ended gone, too.
    if (at !== undefined && event.kind === 'lost' && at >= (takenAt.get(event.owner) ?? Infinity))
      delays.push(event.atMs - at)
  }
  const longestMs = Math.round(Math.max(0, ...delays))
  const counts = PARTS.map((part) => ({ part, times: vanished.filter((each) => each === part).length }))
  const missing = counts.filter(({ part, times }) => times === 0 && part !== OF_PERMITS)
  // Other faults hold up what tells a holder.
  const isTold = faults.every((name) => name === 'key-vanishes' || name === 'lose-reply')
  const meetsAll = minutes >= WHOLE_MINUTES && kinds.length >= KINDS_OF_PROCESSES * 2
  return {
    lines: [
      `vanished: ${counts.map(({ part, times }) => `${times} ${part}`).join(', ')}`,
      `holders were told of a lock that was gone ${delays.length} times, after at most ${longestMs} ms of a lease of ${lease} ms`,
    ],
    violations: [
      ...(isTold && longestMs > lease
        ? ['I1 a holder was told later than a lease after its lock had gone']
        : []),
      ...(vanished.length > 0 ? [] : ['No key vanished: this run proves nothing.']),
      ...(meetsAll
        ? missing.map(({ part }) => `No ${part} vanished: this run proves nothing about it.`)
        : []),
    ],
  }
}
