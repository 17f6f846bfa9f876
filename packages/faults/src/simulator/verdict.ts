import {
  checkHistory,
  type HistoryEvent,
  formatViolation,
  type Remains,
  type Violation,
} from '@holdfast/faults/harness'
import { hasLastingTokens, kindOf } from '../workload/lock-kinds.js'
import type { FaultName, Plan, Settings } from './work/plan.js'
import { checkAtRest, type Orphan } from './checks/at-rest.js'
import { checkFreeLocks } from './checks/free-locks.js'
import { checkTurns } from './checks/turns.js'
import { areLivesLongEnough, checkDuties, LEGS } from './checks/duties.js'
import { askedBehind } from './checks/dead-waiters.js'
import { faultKindOf, type FaultSpan, LEFT_BEHIND, leftBehindForMs } from './checks/fault-spans.js'
import type { Finding } from './finding.js'
import type { PoolAtRest } from '../workload/check-permits.js'
import { Miscount } from '../workload/lock-steps.js'
import { checkSynchronizers } from './synchronizer-verdict.js'
import type { FreeSpan } from './work/free-locks.js'
import type { LostLevels } from './work/lost-levels.js'
import type { Broken } from './work/stage.js'
import type { Overtrust } from './work/redis-witness.js'

export interface Figures {
  readonly acquisitions: number
  readonly losses: number
  readonly faults: number
  readonly longestWaitMs: number
}

interface Seen {
  readonly plan: Plan
  readonly events: readonly HistoryEvent[]
  readonly seen: readonly Overtrust[]
  readonly pools: readonly PoolAtRest[]
  readonly orphans: readonly Orphan[]
  readonly errors: readonly Broken[]
  readonly lostLevels: LostLevels
  readonly remains: readonly Remains[]
  readonly free: readonly FreeSpan[]
}

const findingOf = (violation: Violation): Finding => ({
  rule: `${violation.invariant} ${violation.check}`,
  text: formatViolation(violation),
  lock: violation.lock,
  untilMs: violation.events.at(-1)?.atMs ?? Infinity,
})

const ofOvertrust = ({ atMs, lock, owner, untilMs, leaseEndsMs }: Overtrust): Finding => {
  const lease = leaseEndsMs === undefined ? 'is not there' : `ends at ${leaseEndsMs.toFixed(3)}`
  const text = `I3 trust on "${lock}": at ${atMs.toFixed(3)} ${owner} trusts it until ${untilMs.toFixed(3)}, and in Redis it ${lease}`
  return { rule: 'I3 trust', text, lock, untilMs: atMs }
}

// Callers that come back to a fair lock stand in the queue together, up to 5 ms later (decision 0032).
const RETURN_MS = 8
// A first command may need a connection, a question whether its server is ready, and a script that is not known there.
const LEGS_TO_ARRIVE = 8
// Longer than the pauses of a spin lock.
const HAND_OFF_MS = 300
// Their clients know of them, and ask when they are over: nothing waits for the resync.
const KNOWN_TO_CLIENTS: ReadonlySet<string> = new Set<FaultName>([
  'lose-reply',
  'cut',
  'refuse',
  'delay',
  'black-hole',
  'half-break',
  'script-flush',
  'out-of-memory',
  'read-only',
  'server-stands-still',
  'server-restarts',
  'process-stands-still',
  'wall-clock',
  'forged-message',
])
// Until then calls whose outcome nobody has heard of have been asked about again.
const KNOWN_MS = 700
/**
 * Not of fair locks: a waiter without a connection is passed over, and one that comes back to an empty line cannot be told
 * from one whose line was lost, so that the lock is kept free for a heartbeat and a tenth (decision 0037).
 */
const isFoundAtOnce = (fault: string, lock: string): boolean =>
  KNOWN_TO_CLIENTS.has(fault) && kindOf(lock) !== 'fair'
// A grant from before a loss may be heard of that much later: by a slow wire, or a process that stood still.
export const GRANT_LAG_MS = 5_000

/** A loss of the lock since it was acquired, or a moment before. */
const isExplained = (events: readonly HistoryEvent[], { lock, owner, atMs }: Overtrust): boolean => {
  const own = events.find(
    (event) => event.kind === 'acquired' && event.lock === lock && event.owner === owner,
  )
  const sinceMs = (own?.atMs ?? atMs) - GRANT_LAG_MS
  const losses = new Set<string>()
  for (const event of events) {
    if (event.atMs > atMs) break
    if (event.kind === 'fault' && isLoss(event.class) && (event.lock ?? lock) === lock) losses.add(event.name)
    if (event.kind === 'healed' && event.atMs < sinceMs) losses.delete(event.name)
  }
  return losses.size > 0
}

const isLoss = (kind: string): boolean => kind === 'data-loss' || kind === 'lock-loss'

/** After a fault, whatever it took is found by then. */
const healedMsOf = ({ resyncMs }: Settings): number => 2 * resyncMs + 500

type Healing = (fault: Pick<FaultSpan, 'kind' | 'target' | 'fromMs'>, lock: string) => number

/** How long a fault that is over still explains a free lock. */
const healingOf = (events: readonly HistoryEvent[], settings: Settings): Healing => {
  const healedMs = healedMsOf(settings)
  const knownMs = KNOWN_MS + LEGS * settings.slowestMs
  const asked = askedBehind(events, settings.resyncMs)
  return ({ kind, target, fromMs }, lock) => {
    if (isFoundAtOnce(kind, lock)) return Math.min(healedMs, knownMs)
    if (kind === 'process-killed' && target) {
      return healedMs + Math.max(0, (asked.killed(target, lock) ?? fromMs) - fromMs)
    }
    if (kind === LEFT_BEHIND) {
      const overMs = fromMs + leftBehindForMs(settings)
      return healedMs + Math.max(0, (asked.restored(fromMs, lock) ?? overMs) - overMs)
    }
    return healedMs
  }
}

/** The judgement of the history checkers, and of those who look at Redis from above. */
export const verdictOn = ({
  plan,
  events,
  seen,
  pools,
  orphans,
  errors,
  lostLevels,
  remains,
  free,
}: Seen): { findings: Finding[]; figures: Figures } => {
  const { slowestMs } = plan.settings
  const legsMs = LEGS * slowestMs
  const handOffMs = HAND_OFF_MS + legsMs
  // Those of permits and latches have checkers of their own.
  const ofLocks = events.filter((event) => !('use' in event) && !('latch' in event))
  const healsIn = healingOf(ofLocks, plan.settings)
  const { violations, figures } = checkHistory(ofLocks, {
    liveness: { deadlineMs: 2_500, graceMs: 1_000 + legsMs },
    // Nothing is lost without a fault, so that nobody needs the resync; after one it finds what was, and who has died.
    handOff: {
      limitMs: handOffMs,
      calmMs: healedMsOf(plan.settings),
      healsIn: ({ name, target, atMs }, lock) =>
        healsIn({ kind: faultKindOf(name), target, fromMs: atMs }, lock),
      remains,
    },
    grantLagMs: GRANT_LAG_MS,
    fifo: {
      maxOvertakes: 0,
      slackMs: LEGS_TO_ARRIVE * slowestMs + RETURN_MS,
      calmMs: 500,
      locks: (lock) => kindOf(lock) === 'fair' && areLivesLongEnough(plan.settings),
      excuses: ({ target }) => target === undefined,
    },
    someReleaseEarly: plan.settings.someReleaseEarly,
    lastingTokens: hasLastingTokens,
  })
  const findings = [
    ...violations.map(findingOf),
    ...checkDuties(ofLocks, plan.settings),
    ...checkAtRest(events, orphans),
    ...checkFreeLocks(ofLocks, free, { limitMs: handOffMs, healsIn }),
    ...checkTurns(ofLocks, plan.settings, healedMsOf(plan.settings)),
    ...seen.filter((each) => !isExplained(events, each)).map(ofOvertrust),
    ...checkSynchronizers({ plan, events, pools }, handOffMs).map((text) => ({
      ...{ rule: /^I\d+ [a-z]+/.exec(text)?.[0] ?? text, text, lock: undefined, untilMs: Infinity },
    })),
    ...errors
      .filter(({ error }) => !(error instanceof Miscount && lostLevels.explain(error.levels)))
      .map(({ atMs, lock, error }) => ({
        ...{ rule: `error ${nameOf(error)}`, text: textOf(error), lock, untilMs: atMs },
      })),
  ]
  return { findings, figures }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)
const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
