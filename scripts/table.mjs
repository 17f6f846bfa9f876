/** Rows of cells as lines, the first column to the left and the others to the right. @param {string[][]} rows */
export const table = (rows) => {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((cells) => cells[column].length)))
  return rows.map((cells) =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  '),
  )
}
