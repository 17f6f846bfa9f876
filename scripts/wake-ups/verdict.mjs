import { table } from '../table.mjs'
import { LEASE_MS } from './phases.mjs'

// A try, another one after the subscription, one when the waiter is woken, and the release. A head that leaves makes
// its successor try, and one call in four comes with such a head.
const MOST_SCRIPTS = 4.5
const COLUMNS = [
  '',
  'hand-offs',
  'p50 ms',
  'p99 ms',
  'p99.9 ms',
  'max ms',
  'killed',
  'dropped',
  'scripts each',
]

/** The least value that at least this part of all does not exceed. */
const percentile = (sorted, part) => sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)]

const figuresOf = ({ phase, needs, faults, commands, tookMs }) => {
  const sorted = needs.toSorted((a, b) => a - b)
  const scripts = (commands.get('evalsha') ?? 0) + (commands.get('eval') ?? 0)
  return {
    ...faults,
    phase,
    tookMs,
    count: needs.length,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    p999: percentile(sorted, 0.999),
    max: sorted.at(-1),
    scriptsEach: scripts / needs.length,
  }
}

/**
 * @param {object[]} results of the phases, the one without faults first
 * @param {{ locks: number, resyncMs: number }} wanted
 * @returns {{ text: string, violations: string[] }}
 */
export const verdict = (results, wanted) => {
  const all = results.map(figuresOf)
  const violations = all.flatMap((figures) => violationsOf(figures, all[0], wanted))
  const limit = `with faults it may be ${ms(all[0].p999 + wanted.resyncMs)} ms`
  const lines = [
    ...table([COLUMNS, ...all.map(row)]),
    '',
    `Without faults p99.9 is ${ms(all[0].p999)} ms, the resync interval ${wanted.resyncMs} ms: ${limit}.`,
    ...violations.map((each) => `VIOLATED  ${each}`),
    violations.length === 0 ? 'Every wait ended in time.' : `${violations.length} violations.`,
  ]
  return { text: lines.join('\n'), violations }
}

const violationsOf = (figures, calm, { locks, resyncMs }) => {
  const { phase, p999, max, killed, dropped, scriptsEach } = figures
  // In a phase of few waits p99.9 is one of two: it is held against the slowest one without faults.
  const limitMs = resyncMs + (phase.waits < calm.phase.waits ? calm.max : calm.p999)
  const mostScripts = MOST_SCRIPTS + extraTries(figures, locks)
  const checks = [
    [p999 <= limitMs, `p99.9 of ${ms(p999)} ms is above ${ms(limitMs)} ms (I4)`],
    [max < LEASE_MS, `a lock was free and wanted for the whole lease of ${LEASE_MS} ms (I4)`],
    // Nobody needs the tick unless a message is lost.
    [phase.kills || phase.drops || max < resyncMs, `a wait of ${ms(max)} ms lasted until a resync (I4)`],
    [
      scriptsEach <= mostScripts,
      `${scriptsEach.toFixed(1)} scripts each are more than ${mostScripts.toFixed(1)}`,
    ],
    [!phase.kills || killed > 0, 'no connection was killed: this run proves nothing'],
    // Counted by connection: where each is killed soon, a busy machine may not get to the one that is dropped.
    [!phase.drops || phase.kills || dropped > 0, 'no message was dropped: this run proves nothing'],
  ]
  return checks.filter(([holds]) => !holds).map(([, text]) => `${phase.name}: ${text}`)
}

/** What faults cost for each hand-off: every line tries when its client is subscribed again, and at every resync. */
const extraTries = ({ phase, rounds, tookMs, count }, locks) =>
  phase.kills || phase.drops ? (locks * (rounds + tookMs / phase.resyncMs)) / count : 0

const ms = (value) => value.toFixed(value < 10 ? 1 : 0)

const row = ({ phase, count, p50, p99, p999, max, killed, dropped, scriptsEach }) => [
  phase.name,
  String(count),
  ...[p50, p99, p999, max].map(ms),
  String(killed),
  String(dropped),
  scriptsEach.toFixed(1),
]
