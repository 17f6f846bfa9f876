/**
 * What to remove from `before` and add to it to get `after`: those lines only, each behind `-` or `+`.
 *
 * @param {string} before
 * @param {string} after
 * @returns {string}
 */
export const lineDiff = (before, after) => {
  const [a, b] = [before.split('\n'), after.split('\n')]
  const common = commonLengths(a, b)
  const lines = []
  for (let [i, j] = [0, 0]; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) [i, j] = [i + 1, j + 1]
    else if (j === b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1]))
      lines.push(`- ${a[i++]}`)
    else lines.push(`+ ${b[j++]}`)
  }
  return lines.join('\n')
}

/** How many lines the longest common subsequence of the rests from i and from j has. */
const commonLengths = (a, b) => {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i][j] =
        a[i] === b[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1])
    }
  }
  return lengths
}
