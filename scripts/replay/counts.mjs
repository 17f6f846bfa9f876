/** @param {Map<string, number>} counts */
export const count = (counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1)

/** @param {Iterable<number>} numbers */
export const sum = (numbers) => [...numbers].reduce((total, each) => total + each, 0)

/** @param {Map<string, number>[]} maps */
export const total = (maps) => {
  const totals = new Map()
  for (const [key, number] of maps.flatMap((map) => [...map])) {
    totals.set(key, (totals.get(key) ?? 0) + number)
  }
  return totals
}

/** @param {Map<string, number>} counts */
export const list = (counts) =>
  [...counts]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([what, number]) => `${what} ${number}`)
    .join(' · ')
