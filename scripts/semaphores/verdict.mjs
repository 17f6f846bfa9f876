import { checkLatches } from './check-latches.mjs'
import { checkPool, checkSeats } from './check-rest.mjs'
import { checkUse } from './check-use.mjs'
import { checkWaits } from './check-waits.mjs'
import { kindOf } from './names.mjs'
import { readUses } from './read-uses.mjs'

const CALM = [
  'process-killed',
  'process-stands-still',
  'event-loop-blocked',
  'kill-subscribers',
  'script-flush',
]

/**
 * @param {object[]} events in order of time
 * @param {{ pools: any[], seats: any[], latches: any[], deaths: any, left: string[] }} seen at rest
 * @param {{ permits: number, faults: string[] }} wanted
 */
export const verdict = (events, { pools, seats, latches, deaths, left }, { permits, faults }) => {
  const inRounds = readUses(events)
  const spans = faultsIn(events)
  const use = checkUse(inRounds, permits)
  const calmWires = faults.every((name) => CALM.includes(name))
  const pool = checkPool(inRounds, pools, { permits, calmWires })
  const latch = checkLatches(events, latches, spans)
  const count = (kind, test = () => true) =>
    inRounds.filter((each) => kindOf(each.name) === kind && each.takenMs !== undefined && test(each)).length
  return {
    taken: { semaphore: count('semaphore'), permits: count('permits') },
    ...{
      most: use.most,
      faults: spans.length,
      killed: events.filter(({ kind }) => kind === 'killed').length,
    },
    pool: { held: pool.held, inDoubt: pool.inDoubt, lost: pool.lost },
    lostPermits: count('permits', ({ lostMs }) => lostMs !== undefined),
    latches: { rounds: latches.length, passed: latch.passed, closed: latch.closed },
    deaths,
    problems: [
      ...use.problems,
      ...crowds(events),
      ...pool.problems,
      ...checkSeats(seats, permits),
      ...latch.problems,
      ...checkWaits(inRounds, spans),
      ...deaths.problems,
      ...left.map((key) => `I5 ${key} is left`),
      ...events
        .filter(({ kind, timers }) => kind === 'end' && timers > 0)
        .map((end) => `I5 ${end.process} left ${end.timers} timers`),
    ],
  }
}

const crowds = (events) =>
  events
    .filter(({ kind }) => kind === 'crowd')
    .map(({ name, inUse }) => `I1 ${name}: ${inUse} permits in use, by the Redis that is not under test`)

const faultsIn = (events) => {
  const open = new Map()
  const spans = []
  for (const { kind, name, atMs, process } of events) {
    if (process !== 'semaphores') continue
    if (kind === 'fault') open.set(name, atMs)
    else if (kind === 'healed') spans.push({ fromMs: open.get(name), toMs: atMs })
  }
  return spans
}
