// Breaks Holdfast in every way there is, at random from a seed, and checks what its processes saw.
import { setTimeout as sleep } from 'node:timers/promises'
import type { HistoryEvent, HistoryOptions } from '@holdfast/faults/harness'
import { judge } from '../run/judge.js'
import { defineScenario, type Run, type Scenario, type Verdict } from '../run/scenario.js'
import { nowMs } from '../run/shared-clock.js'
import { happen } from '../workload/faults.js'
import { leftBehind } from '../workload/left-behind.js'
import { hasLastingTokens, kindOf, LOCK_KINDS, lockNames } from '../workload/lock-kinds.js'
import { victimOf } from '../workload/victim.js'
import { follow } from './torture/elections.js'
import { KEEP_MS } from './torture/journeys.js'
import { TORTURE_OPTIONS, type TortureOptions, type TortureValues } from './torture/options.js'
import { torturePermits } from './torture/permits.js'
import { tortured } from './torture/process.js'
import { goneIn, sharesIn, waitsIn } from './torture/figures.js'
import { isPermitKind } from './torture/workload.js'

// Until the last fault has healed everywhere: reconnects, leases of processes that were killed.
const SETTLE_MS = 3_000
const PROGRESS_MS = 5_000
/** The locks' part of the time of a run; the rest is for permits and latches, which have other faults. */
const LOCKS = 0.75

const limitsOf = ({ drop, resync, someReleaseEarly }: TortureValues): HistoryOptions => ({
  // Time that may come on top of a caller's own limit: a command that times out (400 ms), a resync (300 ms), the patience
  // of short waits (250 ms), and a machine that is busy with three processes and their faults.
  liveness: { deadlineMs: 2_500, graceMs: 2_000 },
  // No waiter needs a resync unless a message is lost.
  handOff: { limitMs: drop > 0 ? Math.max(1_000, resync + 700) : 1_000, calmMs: 500 },
  // An answer may be held up by the slowest wire, and by a process that stood still for three leases.
  grantLagMs: 5_000,
  // Redis sees calls of different processes in the order of their beginnings only when nothing holds one of them up
  // for longer than the slack: neither a fault on their way, nor a busy machine.
  fifo: {
    maxOvertakes: 0,
    slackMs: 150,
    calmMs: 500,
    locks: (lock: string) => kindOf(lock) === 'fair',
    excuses: ({ target }) => target === undefined,
  },
  lastingTokens: hasLastingTokens,
  someReleaseEarly,
})

export const torture: Scenario<TortureOptions> = defineScenario({
  name: 'torture',
  summary: 'Everything that processes can hold, taken in every way by several of them, under every fault.',
  options: TORTURE_OPTIONS,
  smoke: '--minutes 0.1',
  long: '--minutes 20',
  heading: ({ minutes: long, kinds, processes, flows, interop }) =>
    `${long} min, ${kinds.join(', ')}, ${processes} processes with ${flows} callers each, interop ${interop}`,

  async run(run) {
    const { options } = run
    const permits = options.kinds.filter(isPermitKind)
    const others = options.kinds.filter((kind) => !isPermitKind(kind))
    if (others.length === 0) return torturePermits(run)
    if (permits.length === 0) return tortureLocks(run)
    const minutes = options.minutes * LOCKS
    const parts = [
      await run.part(torture, { ...options, kinds: others, minutes }),
      await run.part(torture, { ...options, kinds: permits, minutes: options.minutes - minutes }),
    ].map(({ verdict }) => verdict)
    return {
      figures: parts.map(({ figures }) => figures),
      report: parts.flatMap(({ report }) => report),
      violations: parts.flatMap(({ violations }) => violations),
    }
  },

  worker: tortured,
})

const tortureLocks = async (run: Run<TortureOptions>): Promise<Verdict> => {
  const { options, fleet, history, random, interrupted } = run
  const redis = await run.redis()
  const register = await run.redis()
  const kinds = LOCK_KINDS.filter((kind) => options.kinds.includes(kind))
  const locks = kinds.length > 0 ? lockNames(options.locks, kinds) : []
  const victim = await victimOf(run, {
    ...{ redis, register, leaseMs: options.lease, locks: () => locks },
    ...{ delayMs: options.delay, dropNth: options.drop, distances: options.distances },
    settings: () => ({ options }),
  })
  const { launch, observer, copies } = victim
  const unfollow = options.kinds.includes('election') ? follow(observer, history) : undefined
  for (let i = 0; i < options.processes; i += 1) await launch()

  const startedAt = performance.now()
  let [faults, reportedAt] = [0, startedAt]
  while (performance.now() < startedAt + options.minutes * 60_000) {
    interrupted.throwIfAborted()
    if (options.faults.length > 0) {
      await happen(random.pick(options.faults), victim)
      faults += 1
    }
    await sleep(random.between(0, 500))
    if (performance.now() - reportedAt < PROGRESS_MS) continue
    reportedAt = performance.now()
    run.progress(`${faults} faults`)
  }
  await sleep(Math.max(SETTLE_MS, copies.harmlessAtMs - nowMs()))
  await fleet.callAll('finish')
  await unfollow?.()
  await observer.close()
  history.add('end', await leftBehind(redis, Math.max(options.lease, KEEP_MS)))
  const own: string[] = []
  let writes = { guarded: 0, refusedWrites: 0 }
  const verdict = judge(run, limitsOf(options), (events) => {
    const found = [waitsIn(events), sharesIn(events, options), goneIn(events, options)]
    own.push(...found.flatMap(({ violations }) => violations))
    writes = writesIn(events)
    const { guarded, refusedWrites } = writes
    const said = guarded > 0 ? [`${guarded} guarded writes, ${refusedWrites} of them refused`] : []
    return [...found.flatMap(({ lines }) => lines), ...said]
  })
  return {
    ...verdict,
    figures: { ...(verdict.figures as object), ...writes },
    violations: [...verdict.violations, ...own],
  }
}

const writesIn = (events: readonly HistoryEvent[]): { guarded: number; refusedWrites: number } => {
  const guarded = events.filter((event) => event.kind === 'write' && event.token !== undefined)
  const refused = guarded.filter((event) => event.kind === 'write' && !event.accepted)
  return { guarded: guarded.length, refusedWrites: refused.length }
}
