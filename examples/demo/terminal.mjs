const { stdout, env } = process
const coloured = Boolean(stdout.isTTY) && !env.NO_COLOR && env.TERM !== 'dumb'

/** @param {number} code */
const painter = (code) => (/** @type {string} */ text) => (coloured ? `\x1b[${code}m${text}\x1b[0m` : text)

export const bold = painter(1)
export const faint = painter(2)
export const red = painter(31)
export const green = painter(32)

/** @param {number} duration */
export const inMs = (duration) => `${Math.round(duration).toLocaleString('en')} ms`

const GAP = '  '

/**
 * Lines of at most `width` characters; a word that is longer stays whole.
 *
 * @param {string} text
 * @param {number} width
 */
const wrap = (text, width) => {
  const lines = ['']
  for (const word of text.split(/\s+/)) {
    const last = lines[lines.length - 1]
    if (last === '') lines[lines.length - 1] = word
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/**
 * Columns as wide as their longest cell where that fits; else the widest give way.
 *
 * @param {string[][]} rows
 * @param {number} total
 */
const columnWidths = (rows, total) => {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  const room = total - GAP.length * (widths.length - 1)
  while (widths.reduce((sum, width) => sum + width, 0) > room) {
    widths[widths.indexOf(Math.max(...widths))] -= 1
  }
  return widths
}

/**
 * A table as lines of text, cells wrapped to the width of the terminal.
 *
 * @param {string[][]} rows the first one is the head
 * @param {(cell: string, column: number) => string} paint colours a cell that is already padded
 */
export const table = (rows, paint) => {
  const widths = columnWidths(rows, Math.min(Math.max(stdout.columns ?? 110, 70), 120))
  const rule = widths.map((width) => '-'.repeat(width)).join(GAP)
  const lines = rows.map((row, index) => {
    const cells = row.map((cell, column) => wrap(cell, widths[column]))
    const height = Math.max(...cells.map((cell) => cell.length))
    return Array.from({ length: height }, (_, line) =>
      cells
        .map((cell, column) => {
          const text = (cell[line] ?? '').padEnd(widths[column])
          if (text.trim() === '') return text
          return index === 0 ? bold(text) : paint(text, column)
        })
        .join(GAP)
        .trimEnd(),
    ).join('\n')
  })
  return [lines[0], rule, ...lines.slice(1)].join('\n')
}
