/** @param {number[]} values at least one */
export const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** @param {number[]} values at least one */
export const summary = (values) => ({
  median: median(values),
  min: Math.min(...values),
  max: Math.max(...values),
})

/** The summary of each figure of samples that have the same figures. @param {Record<string, number>[]} samples at least one */
export const summaries = (samples) =>
  Object.fromEntries(
    Object.keys(samples[0]).map((figure) => [figure, summary(samples.map((each) => each[figure]))]),
  )

/** @param {number[]} values at least one @param {number} part from 0 to 1 */
export const quantile = (values, part) => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
}

/**
 * How evenly something went round: 1 when all had the same, 1 / n when one had all (Jain, Chiu, Hawe: A Quantitative
 * Measure of Fairness, DEC-TR-301, 1984).
 *
 * @param {number[]} shares at least one
 */
export const jainIndex = (shares) => {
  const sum = shares.reduce((total, each) => total + each, 0)
  const squares = shares.reduce((total, each) => total + each * each, 0)
  return squares === 0 ? 0 : (sum * sum) / (shares.length * squares)
}
