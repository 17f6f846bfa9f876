// Permits and latches of the torture: what is in use at any moment, and what is there at rest.
import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from '@holdfast/faults/harness'
import { readHistories, runnerFile } from '../../run/history-file.js'
import { firstOf } from '../../run/judge.js'
import type { Run, Verdict } from '../../run/scenario.js'
import { nowMs } from '../../run/shared-clock.js'
import { checkLatches, checkPools, checkUse, checkWaits } from '../../workload/check-permits.js'
import { happen, type FaultName, type Victim } from '../../workload/faults.js'
import {
  faultsIn,
  usesIn,
  type SemaphoreEvent,
  type SemaphoreHistory,
  type Use,
} from '../../workload/permit-uses.js'
import { Register } from '../../workload/register.js'
import { victimOf } from '../../workload/victim.js'
import type { TortureOptions, TortureValues } from './options.js'
import { checkEnding, isEnding, killHolders, poolsAtRest, semaphoreNamed } from './permits/at-rest.js'
import { LatchRounds } from './permits/latches.js'
import { isPermitKind } from './workload.js'

const EACH = 4
// Permits without an end are lost with killed processes: others begin before nothing is left.
const ROUND_MS = 3_000
// Until the last fault has healed everywhere: reconnects, leases of processes that were killed.
const SETTLE_MS = 2_500
/** Where Redis loses its data nothing is promised, and nobody can take a permit away by force. */
const isForPermits = (name: FaultName): boolean => !['redis-restarts-empty', 'force-unlock'].includes(name)
// They hold no command up that is on its way.
const CALM_WIRES: readonly FaultName[] = [
  'process-killed',
  'process-stands-still',
  'event-loop-blocked',
  'kill-subscribers',
  'script-flush',
]

/** Counts of each kind, for one round of a run. A latch is made for each of its own rounds. */
const namesFor = (round: number | string, kinds: readonly string[], each: number): string[] =>
  kinds
    .filter((kind) => kind !== 'latch')
    .flatMap((kind) => Array.from({ length: each }, (_, i) => `${kind}:${round}.${i}`))

export const torturePermits = async (run: Run<TortureOptions>): Promise<Verdict> => {
  const { options, fleet } = run
  const kinds = options.kinds.filter(isPermitKind)
  const faults = options.faults.filter(isForPermits)
  const redis = await run.redis()
  const register = await run.redis()
  const registered = new Register(register.port)
  run.after(() => registered.close())
  const names = { current: [] as string[], all: [] as string[] }
  const victim = await victimOf(run, {
    ...{ redis, register, leaseMs: options.lease, locks: () => names.current },
    ...{ delayMs: options.delay, dropNth: options.drop, distances: options.distances },
    settings: () => ({ options, isForPermits: true }),
  })
  for (let i = 0; i < options.processes; i += 1) await victim.launch()
  const { observer } = victim

  const latches = new LatchRounds(fleet, observer)
  const counting = kinds.includes('latch') ? latches.run() : Promise.resolve()
  // Thrown later: a process that takes the place of a killed one would outlive a run that ends here.
  counting.catch(() => undefined)
  await playRounds(run, { victim, names, kinds, faults })
  latches.stop()
  await counting
  await fleet.callAll('rest')
  const pools = await poolsAtRest(observer, registered, names.all)
  const violations = await checkEnding(observer, names.all, {
    permits: options.permits,
    leaseMs: options.lease,
  })
  const latchesAtRest = await latches.atRest()
  const history: SemaphoreHistory = run.history
  history.add('at-rest')
  names.current = []
  const deaths = await killHolders(victim, namesFor('deaths', kinds, 1))
  await fleet.callAll('finish')
  await observer.close()
  violations.push(...deaths.violations, ...(await keysLeft(redis)).map((key) => `I5 ${key} is left`))
  const events = readHistories<SemaphoreEvent>([...fleet.files, runnerFile(run)])
  return verdictOf(events, { pools, latchesAtRest, deaths, violations, faults }, options)
}

/** Faults for as long as the run is to take, with new semaphores every few seconds. */
const playRounds = async (
  { options, random, fleet, interrupted, progress }: Run<TortureOptions>,
  {
    victim,
    names,
    kinds,
    faults,
  }: {
    victim: Victim
    names: { current: string[]; all: string[] }
    kinds: readonly string[]
    faults: readonly FaultName[]
  },
): Promise<void> => {
  const endsAt = performance.now() + options.minutes * 60_000
  for (let round = 0; performance.now() < endsAt; round += 1) {
    const next = namesFor(round, kinds, EACH)
    for (const name of next) await semaphoreNamed(victim.observer, name).trySetPermits(options.permits)
    names.all.push(...next)
    names.current = next
    await fleet.callAll('round', next)
    const roundEndsAt = Math.min(endsAt, performance.now() + ROUND_MS)
    while (performance.now() < roundEndsAt) {
      interrupted.throwIfAborted()
      if (faults.length > 0) await happen(random.pick(faults), victim)
      await sleep(random.between(0, 500))
    }
    progress(`round ${round + 1} of permits`)
  }
  await sleep(Math.max(SETTLE_MS, victim.copies.untilMs - nowMs()))
}

/** Counters stay, and the records of operations end by themselves. */
const keysLeft = async (redis: RedisServer): Promise<string[]> => {
  const channels = (await redis.command('PUBSUB', 'CHANNELS')) as string[]
  const keys = (await redis.command('KEYS', '*')) as string[]
  const isExpected = (key: string): boolean => /^(semaphore:|permits:|latch:|holdfast:operations:)/.test(key)
  return [...channels, ...keys.filter((key) => !isExpected(key))]
}

interface Seen {
  readonly pools: Awaited<ReturnType<typeof poolsAtRest>>
  readonly latchesAtRest: Awaited<ReturnType<LatchRounds['atRest']>>
  readonly deaths: { readonly killed: number; readonly backMs: number }
  readonly violations: readonly string[]
  readonly faults: readonly FaultName[]
}

const verdictOf = (
  events: readonly SemaphoreEvent[],
  { pools, latchesAtRest, deaths, violations, faults }: Seen,
  { permits }: TortureValues,
): Verdict => {
  const uses = usesIn(events)
  const spans = faultsIn(events)
  const { most, violations: ofUse } = checkUse(uses, permits)
  const calmWires = faults.every((name) => CALM_WIRES.includes(name))
  const { violations: ofPools, ...pool } = checkPools(uses, pools, { permits, calmWires })
  const { violations: ofLatches, ...latches } = checkLatches(events, latchesAtRest, spans)
  const taken = uses.filter(({ takenMs }) => takenMs !== undefined)
  const ending = taken.filter(({ name }) => isEnding(name))
  const lost = ending.filter(({ lostMs }) => lostMs !== undefined).length
  const killed = events.filter(({ kind }) => kind === 'killed').length
  const longest = (of: readonly Use[]): number =>
    Math.round(Math.max(0, ...of.map(({ beginMs, takenMs = beginMs }) => takenMs - beginMs)))
  return {
    figures: { taken: taken.length, ending: ending.length, most, killed, pool, latches, deaths },
    report: [
      `${taken.length - ending.length} times permits without an end, ${ending.length} times permits that end (${lost} were lost to their holders); ` +
        `longest wait ${longest(taken)} ms`,
      `${spans.length} faults, ${killed} processes killed; at most ${most} of ${permits} permits in use at once`,
      `without an end: killed processes had ${pool.held}, and wanted or were returning ${pool.inDoubt}; ${pool.lost} are missing`,
      `${latches.rounds} latches: ${latches.passed} waits passed, ${latches.closed} ended before`,
      `at rest ${deaths.killed} processes were killed; permits that end were back after ${Math.round(deaths.backMs)} ms`,
    ],
    violations: firstOf([
      ...ofUse,
      ...ofPools,
      ...ofLatches,
      ...checkWaits(uses, spans),
      ...violations,
      ...events.flatMap((event) => {
        if (event.kind === 'too-many')
          return [`I1 ${event.name}: ${event.inUse} permits in use, by the Redis that is not under test`]
        return event.kind === 'end' && event.timers > 0
          ? [`I5 ${event.process} left ${event.timers} timers`]
          : []
      }),
    ]),
  }
}
