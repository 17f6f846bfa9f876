/** @param {{ order: any, deaths: any, cost: any }} result */
export const report = ({ order, deaths, cost }) =>
  [
    `order: ${order.waiters} callers of ${order.processes} processes, served in ${Math.round(order.tookMs)} ms${held(order)}`,
    `deaths: ${deaths.died} waiters died, ${deaths.left} left; longest time without a holder ${Math.round(deaths.longestGapMs)} ms, ` +
      `two heartbeats are ${deaths.allowedMs} ms (a process stood still for ${Math.round(deaths.stallMs)} ms)${held(deaths)}`,
    `cost of a hand-over${held(cost)}`,
    '',
    ...table([
      ['waiters', 'scripts', 'Lua µs', 'hand-overs/s'],
      ...cost.rows.map(({ waiters, scripts, luaUs, perSecond }) => [
        String(waiters),
        scripts.toFixed(2),
        luaUs.toFixed(0),
        perSecond.toFixed(0),
      ]),
    ]),
  ].join('\n')

const held = ({ problems }) =>
  problems.length === 0 ? ': held' : `: NOT HELD\n${problems.map((problem) => `  ${problem}`).join('\n')}`

const table = (rows) => {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  const line = (row) => `| ${row.map((cell, column) => cell.padStart(widths[column])).join(' | ')} |`
  const rule = `| ${widths.map((width) => `${'-'.repeat(width - 1)}:`).join(' | ')} |`
  return [line(rows[0]), rule, ...rows.slice(1).map(line)]
}
