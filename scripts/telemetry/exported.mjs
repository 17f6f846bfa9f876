/**
 * What Prometheus reads: metric, labels, value.
 *
 * @param {string} text
 */
export const samplesIn = (text) =>
  [...text.matchAll(/^(\w+)\{(.*)\} (\S+)(?: \d+)?$/gm)].map(([, metric, labels, value]) => ({
    metric,
    labels: Object.fromEntries(
      [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, text]) => [name, text]),
    ),
    value: Number(value),
  }))

const sumBy = (samples, metric, keyOf) => {
  const sums = {}
  for (const sample of samples.filter((each) => each.metric === metric)) {
    const key = keyOf(sample.labels)
    sums[key] = (sums[key] ?? 0) + sample.value
  }
  return sums
}

/** Whether it was passed the lock by another caller of its client, or given it by Redis, nobody tells a caller. */
const pathToCallers = (path) => (path === 'passed' || path === 'granted' ? 'remote' : path)

/** The metrics of one process, in the words of its tally. */
export const exported = (text) => {
  const samples = samplesIn(text)
  const total = (metric) =>
    samples.filter((each) => each.metric === metric).reduce((sum, { value }) => sum + value, 0)
  const renewals = sumBy(samples, 'holdfast_lock_renewals_total', (labels) => labels.holdfast_lock_outcome)
  return {
    calls: sumBy(samples, 'holdfast_lock_acquisitions_total', (labels) =>
      [
        labels.holdfast_lock_kind,
        labels.holdfast_lock_outcome,
        ...[pathToCallers(labels.holdfast_lock_path), labels.error_type].filter(Boolean),
      ].join(' '),
    ),
    passed: acquiredBy(samples, 'passed'),
    granted: acquiredBy(samples, 'granted'),
    losses: sumBy(samples, 'holdfast_lock_losses_total', (labels) => labels.holdfast_lock_loss_reason),
    renewals,
    margins: total('holdfast_lock_renewal_margin_count'),
    held: total('holdfast_lock_held'),
    waiters: total('holdfast_lock_waiters'),
    waits: total('holdfast_lock_wait_duration_count'),
    holds: total('holdfast_lock_hold_duration_count'),
    handOffs: total('holdfast_lock_handoff_duration_count'),
  }
}

const acquiredBy = (samples, path) =>
  sumBy(samples, 'holdfast_lock_acquisitions_total', (labels) => labels.holdfast_lock_path)[path] ?? 0
