import { appendFileSync } from 'node:fs'
import type { Episode } from './episode.js'
import { GRANT_LAG_MS } from './verdict.js'
import { PERMITS } from './work/plan.js'

/** Appends what the processes of a world saw, and which rules it broke. Its form: docs/histories.md. */
export const appendHistory = (path: string, { plan, events, findings }: Episode): void => {
  const rules = findings.map(({ rule }) => rule)
  const head = { kind: 'history', seed: plan.seed, permits: PERMITS, grantLagMs: GRANT_LAG_MS, rules }
  appendFileSync(path, [head, ...events].map((line) => `${JSON.stringify(line)}\n`).join(''))
}
