/** The pages that have tables of the record. */
export const PAGES = ['docs/support.md', 'README.md']

/** What stands in each table, in this order; a cell that a row has not is none that is run. */
const TABLES = {
  servers: {
    heading: 'server',
    columns: { single: 'one server', cluster: 'cluster of three primaries' },
    order: ['valkey-9', 'valkey-8', 'redis-8.2', 'redis-7.4', 'redis-7.0', 'redis-6.2'],
  },
  runtimes: {
    heading: 'runtime',
    columns: { smoke: 'every entry of the packed packages', unit: 'unit tests' },
    order: ['node-26', 'node-24', 'node-22', 'node-20', 'bun', 'deno'],
  },
  redisson: {
    heading: 'Redisson',
    columns: { plain: 'beside Holdfast', mapped: 'with a NameMapper' },
    order: [],
  },
}

/** In the README each row is one word, and the page has the rest. */
const SHORT = { passed: 'passed', failed: '**failed**', missing: 'not run' }

/**
 * A page with the tables of the record between the marks that it has: `<!-- support: servers -->` and
 * `<!-- /support -->`.
 *
 * @param {string} page its name @param {string} text @param {Record<string, Record<string, import('./record.mjs').Row>>} record
 * @throws when a mark has no end, or names no table
 */
export const withTables = (page, text, record) =>
  text.replace(
    /(<!-- support: (\w+)( in short)? -->\n)([\s\S]*?)(<!-- \/support -->|$)/g,
    (_all, begin, name, isShort, _old, end) => {
      if (end === '') throw new Error(`${page}: '${begin.trim()}' has no '<!-- /support -->' behind it`)
      if (!(name in TABLES))
        throw new Error(`${page}: '${begin.trim()}' names none of ${Object.keys(TABLES)}`)
      const lines = isShort ? shortTable(name, record[name] ?? {}) : wholeTable(name, record[name] ?? {})
      return `${begin}\n${lines.join('\n')}\n\n${end}`
    },
  )

const rowsOf = (name, rows) => {
  const { order } = TABLES[name]
  const place = (key) => (order.includes(key) ? order.indexOf(key) : order.length)
  return Object.entries(rows).sort(
    ([a], [b]) => place(a) - place(b) || b.localeCompare(a, 'en', { numeric: true }),
  )
}

const inRow = (cells) => `| ${cells.join(' | ')} |`

const wholeTable = (name, rows) => {
  const { heading, columns } = TABLES[name]
  const head = [heading, ...Object.values(columns), 'run']
  const sorted = rowsOf(name, rows)
  const lines = sorted.map(([, { what, date, commit, cells }]) => {
    const said = Object.keys(columns).map((key) => wordsOf(cells[key]))
    return inRow([what, ...said, `${date}, \`${commit}\``])
  })
  const reasons = sorted.flatMap(([, { what, cells }]) =>
    Object.keys(columns)
      .filter((key) => cells[key] && cells[key].state !== 'passed')
      .map((key) => `- ${what}, ${columns[key]}: ${SHORT[cells[key].state]}. ${cells[key].said}`),
  )
  return [
    inRow(head),
    inRow(head.map(() => '---')),
    ...lines,
    ...(reasons.length > 0 ? ['', ...reasons] : []),
  ]
}

const wordsOf = (cell) => {
  if (cell === undefined) return '–'
  return cell.state === 'passed' ? `passed: ${cell.said}` : SHORT[cell.state]
}

const shortTable = (name, rows) => {
  const { heading, columns } = TABLES[name]
  const keys = Object.keys(columns)
  const lines = rowsOf(name, rows).map(([, { what, date, cells }]) =>
    inRow([what, ...keys.map((key) => (cells[key] ? SHORT[cells[key].state] : '–')), date]),
  )
  const head = [heading, ...Object.values(columns), 'run']
  return [inRow(head), inRow(head.map(() => '---')), ...lines]
}
