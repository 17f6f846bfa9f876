import { exported } from './exported.mjs'

/**
 * Where what one process exports is not what its callers counted.
 *
 * @param {string} who
 * @param {{ counted: any, text: string }} seen of one moment
 * @param {boolean} atRest every caller has ended
 */
export const compare = (who, { counted, text }, atRest) => {
  const metrics = exported(text)
  const problems = [
    ...differences(`${who}: calls`, counted.calls, metrics.calls),
    ...differences(`${who}: losses`, counted.losses, metrics.losses),
  ]
  const renewals = sum(metrics.renewals)
  if (metrics.margins !== renewals)
    problems.push(`${who}: ${metrics.margins} margins of ${renewals} renewals`)
  if (atRest && metrics.held !== 0) problems.push(`${who}: ${metrics.held} held at rest`)
  if (atRest && metrics.waiters !== 0) problems.push(`${who}: ${metrics.waiters} waiters at rest`)
  return { metrics, problems }
}

const differences = (what, counted, metric) =>
  [...new Set([...Object.keys(counted), ...Object.keys(metric)])]
    .filter((key) => (counted[key] ?? 0) !== (metric[key] ?? 0))
    .map((key) => `${what}: ${key}: ${counted[key] ?? 0} counted, ${metric[key] ?? 0} exported`)

export const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0)
