// Semaphores and count-down latches with callers of several processes that are killed, or whose wires and Redis are
// broken: what is in use at any moment, and what is there at rest. docs/semaphores.md has the figures.
import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from '@holdfast/faults/harness'
import { readHistories, runnerFile } from '../run/history-file.js'
import { firstOf } from '../run/judge.js'
import { count, ms, someOf, type OptionValues } from '../run/options.js'
import { seededRandom, type SeededRandom } from '../run/random.js'
import { defineScenario, type Roles, type Run, type Verdict } from '../run/scenario.js'
import { nowMs } from '../run/shared-clock.js'
import { FAULT_NAMES, happen, type FaultName, type Victim } from '../workload/faults.js'
import { ObservedClient } from '../workload/observed-client.js'
import { victimOf } from '../workload/victim.js'
import {
  checkExpirable,
  expirableAtRest,
  Holder,
  type Hold,
  killHolders,
  poolsAtRest,
} from './semaphores/at-rest.js'
import { Caller } from './semaphores/caller.js'
import { checkPools, checkUse, checkWaits } from './semaphores/checks.js'
import {
  faultsIn,
  usesIn,
  type Use,
  type SemaphoreEvent,
  type SemaphoreHistory,
} from './semaphores/events.js'
import { checkLatches, LatchRounds, useLatch } from './semaphores/latches.js'
import { kindOf, KINDS, namesFor, semaphoreNamed, type SemaphoreKind } from './semaphores/names.js'
import { PermitsInUse } from './semaphores/permits-in-use.js'

const EACH = 4
// What killed processes had without an end is lost: others begin before nothing is left.
const ROUND_MS = 3_000
// Until the last fault has healed everywhere: reconnects, leases of processes that were killed.
const SETTLE_MS = 2_500
/** Where Redis loses its data nothing is promised, and nobody can take a permit away by force. */
export const SEMAPHORE_FAULTS = FAULT_NAMES.filter(
  (name) => !['redis-restarts-empty', 'force-unlock'].includes(name),
)
// They hold no command up that is on its way.
const CALM_WIRES: readonly FaultName[] = [
  'process-killed',
  'process-stands-still',
  'event-loop-blocked',
  'kill-subscribers',
  'script-flush',
]

const OPTIONS = {
  seconds: count(20, 'how long faults go on'),
  faults: someOf(SEMAPHORE_FAULTS, 'faults', { mayBeNone: true, preset: ['process-killed'] }),
  kinds: someOf(KINDS, 'permits without an end, permits that end, and latches'),
  processes: count(4, 'worker processes', { least: 2 }),
  callers: count(8, 'callers in each process'),
  permits: count(5, 'permits of each semaphore', { least: 2 }),
  lease: ms(1_500, 'of permits that end, and of renewal', { least: 300 }),
  resync: ms(300, 'how often a waiter asks without being woken', { least: 1 }),
}

type Options = OptionValues<typeof OPTIONS>

export const semaphores = defineScenario({
  name: 'semaphores',
  summary:
    'Semaphores and latches of several processes under faults: what is in use, and what is left at rest.',
  options: OPTIONS,
  smoke: '--seconds 4 --lease 900',
  long: '--seconds 60 --faults all',
  heading: ({ seconds, processes, callers, faults }) =>
    `${seconds} s, ${processes} processes with ${callers} callers each, ${faults.join(', ')}`,

  async run(run) {
    const { options, fleet } = run
    const redis = await run.redis()
    const register = await run.redis()
    const inUse = new PermitsInUse(register.port)
    run.after(() => inUse.close())
    const names = { current: [] as string[], all: [] as string[] }
    const victim = await victimOf(run, {
      ...{ redis, register, leaseMs: options.lease, locks: () => names.current },
      settings: () => ({ resyncMs: options.resync, callers: options.callers, permits: options.permits }),
    })
    for (let i = 0; i < options.processes; i += 1) await victim.launch()
    const { observer } = victim

    const latches = new LatchRounds(fleet, observer)
    const counting = options.kinds.includes('latch') ? latches.run() : Promise.resolve()
    // Thrown later: a process that takes the place of a killed one would outlive a run that ends here.
    counting.catch(() => undefined)
    await playRounds(run, victim, names)
    latches.stop()
    await counting
    await fleet.callAll('rest')
    const pools = await poolsAtRest(observer, inUse, names.all)
    const expirable = await expirableAtRest(observer, names.all, {
      permits: options.permits,
      leaseMs: options.lease,
    })
    const atRest = await latches.atRest()
    const history: SemaphoreHistory = run.history
    history.add('at-rest')
    names.current = []
    const deaths = await killHolders(victim, options.kinds)
    await fleet.callAll('finish')
    await observer.close()
    const left = await keysLeft(redis)
    const events = readHistories<SemaphoreEvent>([...fleet.files, runnerFile(run)])
    return verdictOf(events, { pools, expirable, latches: atRest, deaths, left }, options)
  },

  worker(): Roles {
    let settings: Begin
    let random: SeededRandom
    let client: ObservedClient
    let inUse: PermitsInUse
    let callers: Caller[] = []
    let running: Promise<unknown>[] = []
    let holder: Holder
    let uses = 0
    const failures: unknown[] = []
    const start = (names: readonly string[]): void => {
      const { name, callers: number, leaseMs, seed, permits } = settings
      const { locks, history } = client
      callers = Array.from({ length: names.length > 0 ? number : 0 }, (_, i) => {
        const parts = { locks, names, inUse, history, leaseMs, permits, random: seededRandom(seed * 100 + i) }
        return new Caller({ ...parts, name: `${name}/${i}/${(uses += 1)}` })
      })
      running = callers.map((caller) => caller.run().catch((error: unknown) => failures.push(error)))
    }
    const rest = async (): Promise<void> => {
      callers.forEach((caller) => caller.stop())
      await Promise.all(running)
      if (failures.length > 0) throw failures[0]
    }
    return {
      begin(wanted: Begin) {
        settings = wanted
        random = seededRandom(wanted.seed)
        client = new ObservedClient({
          ...wanted,
          redis: { retryStrategy: () => 30, maxLoadingRetryTime: 50 },
          client: {
            ...{ lockWatchdogTimeout: wanted.leaseMs, resyncInterval: wanted.resyncMs },
            ...{ commandTimeout: 400, unavailableTimeoutMs: 2_000 },
          },
        })
        holder = new Holder(client, wanted.name)
        inUse = new PermitsInUse(wanted.registerPort)
        start(wanted.locks)
      },
      /** All callers end, and begin again with other names. */
      async round(names: readonly string[]) {
        await rest()
        start(names)
      },
      rest,
      latch: (name: string) => useLatch(client.locks.getCountDownLatch(name), client.history, random),
      hold: (what: Hold) => holder.hold(what),
      giveBack: () => holder.giveBack(),
      async finish() {
        await rest()
        // ioredis tells no end of a connection that it was about to open again.
        await client.redis.ping()
        await client.close([inUse])
      },
    }
  },
})

interface Begin {
  readonly name: string
  readonly file: string
  readonly port: number
  readonly registerPort: number
  readonly leaseMs: number
  readonly resyncMs: number
  readonly locks: readonly string[]
  readonly callers: number
  readonly permits: number
  readonly seed: number
}

/** Faults for as long as the run is to take, with new semaphores every few seconds. */
const playRounds = async (
  { options, random, fleet, interrupted, progress }: Run<typeof OPTIONS>,
  victim: Victim,
  names: { current: string[]; all: string[] },
): Promise<void> => {
  const { seconds, kinds, permits, faults } = options
  const endsAt = performance.now() + seconds * 1_000
  for (let round = 0; performance.now() < endsAt; round += 1) {
    const next = namesFor(round, kinds, EACH)
    for (const name of next) await semaphoreNamed(victim.observer, name).trySetPermits(permits)
    names.all.push(...next)
    names.current = next
    await fleet.callAll('round', next)
    const roundEndsAt = Math.min(endsAt, performance.now() + ROUND_MS)
    while (performance.now() < roundEndsAt) {
      interrupted.throwIfAborted()
      if (faults.length > 0) await happen(random.pick(faults), victim)
      await sleep(random.between(0, 500))
    }
    progress(`round ${round + 1}`)
  }
  await sleep(Math.max(SETTLE_MS, victim.copies.untilMs - nowMs()))
}

/** Counters stay, and the records of operations end by themselves. */
const keysLeft = async (redis: RedisServer): Promise<string[]> => {
  const channels = (await redis.command('PUBSUB', 'CHANNELS')) as string[]
  const keys = (await redis.command('KEYS', '*')) as string[]
  return [
    ...channels,
    ...keys.filter((key) => !/^(semaphore:|permits:|latch:|holdfast:operations:)/.test(key)),
  ]
}

interface Seen {
  readonly pools: Awaited<ReturnType<typeof poolsAtRest>>
  readonly expirable: Awaited<ReturnType<typeof expirableAtRest>>
  readonly latches: Awaited<ReturnType<LatchRounds['atRest']>>
  readonly deaths: Awaited<ReturnType<typeof killHolders>>
  readonly left: readonly string[]
}

const verdictOf = (
  events: readonly SemaphoreEvent[],
  { pools, expirable, latches, deaths: { violations: ofDeaths, ...deaths }, left }: Seen,
  { permits, faults }: Options,
): Verdict => {
  const uses = usesIn(events)
  const spans = faultsIn(events)
  const use = checkUse(uses, permits)
  const calmWires = faults.every((name) => CALM_WIRES.includes(name))
  const { violations: ofPools, ...pool } = checkPools(uses, pools, { permits, calmWires })
  const { violations: ofLatches, ...latch } = checkLatches(events, latches, spans)
  const taken = (kind: SemaphoreKind): Use[] =>
    uses.filter((each) => kindOf(each.name) === kind && each.takenMs !== undefined)
  const figures = {
    taken: { semaphore: taken('semaphore').length, permits: taken('permits').length },
    most: use.most,
    faults: spans.length,
    killed: events.filter(({ kind }) => kind === 'killed').length,
    pool,
    lostPermits: taken('permits').filter(({ lostMs }) => lostMs !== undefined).length,
    latches: latch,
    deaths,
  }
  return {
    figures,
    report: reportOf(figures, permits),
    violations: firstOf([
      ...use.violations,
      ...events.flatMap((event) =>
        event.kind === 'too-many'
          ? [`I1 ${event.name}: ${event.inUse} permits in use, by the Redis that is not under test`]
          : [],
      ),
      ...ofPools,
      ...checkExpirable(expirable, permits),
      ...ofLatches,
      ...checkWaits(uses, spans),
      ...ofDeaths,
      ...left.map((key) => `I5 ${key} is left`),
      ...events.flatMap((event) =>
        event.kind === 'end' && event.timers > 0 ? [`I5 ${event.process} left ${event.timers} timers`] : [],
      ),
    ]),
  }
}

const reportOf = (
  {
    taken,
    most,
    faults,
    killed,
    pool,
    lostPermits,
    latches,
    deaths,
  }: {
    taken: { semaphore: number; permits: number }
    most: number
    faults: number
    killed: number
    pool: { held: number; inDoubt: number; lost: number }
    lostPermits: number
    latches: { rounds: number; passed: number; closed: number }
    deaths: { killed: number; held: number; lost: number; backMs: number }
  },
  permits: number,
): string[] => [
  `${taken.semaphore} times permits without an end, ${taken.permits} times permits that end (${lostPermits} were lost to their holders)`,
  `${faults} faults, ${killed} processes killed; at most ${most} of ${permits} permits in use at once`,
  `without an end: killed processes had ${pool.held}, and wanted or were returning ${pool.inDoubt}; ${pool.lost} are missing`,
  `${latches.rounds} latches: ${latches.passed} waits passed, ${latches.closed} ended before`,
  `at rest ${deaths.killed} processes were killed with ${deaths.held} permits without an end: ${deaths.lost} are missing; ` +
    `those that end were back after ${Math.round(deaths.backMs)} ms`,
]
