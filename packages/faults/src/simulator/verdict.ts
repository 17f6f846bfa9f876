import { checkHistory, type HistoryEvent, formatViolation, type Violation } from '@holdfast/faults/harness'
import { kindOf, tokensOf } from '../workload/lock-kinds.js'
import type { Plan } from './work/plan.js'
import type { Overtrust } from './work/redis-witness.js'

/** A rule that a world broke. */
export interface Finding {
  /** What is the same of two findings of one mistake. */
  readonly rule: string
  readonly text: string
  /** Until when the world has to go on to show it. */
  readonly untilMs: number
}

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
  /** What no call of a lock may end with. */
  readonly errors: readonly unknown[]
}

const findingOf = (violation: Violation): Finding => ({
  rule: `${violation.invariant} ${violation.check}`,
  text: formatViolation(violation),
  untilMs: violation.events.at(-1)?.atMs ?? Infinity,
})

const ofOvertrust = ({ atMs, lock, owner, untilMs, leaseEndsMs }: Overtrust): Finding => {
  const lease = leaseEndsMs === undefined ? 'is not there' : `ends at ${leaseEndsMs.toFixed(3)}`
  const text = `I3 trust on "${lock}": at ${atMs.toFixed(3)} ${owner} trusts it until ${untilMs.toFixed(3)}, and in Redis it ${lease}`
  return { rule: 'I3 trust', text, untilMs: atMs }
}

/** The judgement of the history checkers, and of those who look at Redis from above. */
export const verdictOn = ({
  plan,
  events,
  seen,
  errors,
}: Seen): { findings: Finding[]; figures: Figures } => {
  const { resyncMs, slowestMs } = plan.settings
  const { violations, figures } = checkHistory(events, {
    liveness: { deadlineMs: 2_500, graceMs: 1_000 + 20 * slowestMs },
    handOff: { limitMs: resyncMs + 200 + 20 * slowestMs, calmMs: 500 },
    grantLagMs: 5_000,
    fifo: {
      maxOvertakes: 0,
      slackMs: 4 * slowestMs,
      calmMs: 500,
      locks: (lock) => kindOf(lock) === 'fair',
      excuses: ({ target }) => target === undefined,
    },
    lastingTokens: (lock) => tokensOf(lock) === 'time',
  })
  const findings = [
    ...violations.map(findingOf),
    ...seen.map(ofOvertrust),
    ...errors.map((error) => ({ rule: `error ${nameOf(error)}`, text: textOf(error), untilMs: Infinity })),
  ]
  return { findings, figures }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)
const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
