/** A table in Markdown: the first row is its head, numbers stand to the right. */
export const table = (rows: readonly (readonly string[])[]): string[] => {
  const [head = []] = rows
  const widths = head.map((_, column) => Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(head), rule, ...rows.slice(1).map(line)]
}

export const sum = (numbers: Iterable<number>): number =>
  [...numbers].reduce((total, each) => total + each, 0)

/** The median; NaN of no values. */
export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  return ((sorted[half] ?? NaN) + (sorted[sorted.length - 1 - half] ?? NaN)) / 2
}
