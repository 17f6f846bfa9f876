export const thousands = (value) =>
  value === undefined ? '–' : Math.round(value).toLocaleString('en-GB').replaceAll(' ', ',')
export const decimals = (value, digits) => (value === undefined ? '–' : value.toFixed(digits))
export const ratio = (value) => (value === undefined ? '' : value.toFixed(2))
export const spread = ({ min, max }) => `${thousands(min)} to ${thousands(max)}`

/** A median, and the part of it that the slowest round had. @param {{ median: number, min: number }} rounds */
export const withSlowest = ({ median, min }) => `${thousands(median)} (${decimals(min / median, 2)})`

/** In three digits, whatever the size. */
export const figure = (value) => {
  if (value === undefined) return '–'
  if (value >= 100) return thousands(value)
  return value.toFixed(value >= 10 ? 1 : value >= 0.1 || value === 0 ? 2 : 3)
}

/** A table in Markdown that can be read as it is. @param {{ head: string[], rows: string[][] }} table */
export const markdown = ({ head, rows }) => {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column].length)))
  const pad = (text, column) => (column === 0 ? text.padEnd(widths[0]) : text.padStart(widths[column]))
  const line = (cells) => `| ${cells.map(pad).join(' | ')} |`
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}
