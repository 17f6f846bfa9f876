/** The pages that have tables of the record. */
export const PAGES = ['docs/support.md']

/**
 * The content of each table, in this order. A cell that a row has not is none that is run, and `left` says why, by column:
 * below the table the reason stands once for all rows.
 */
const TABLES = {
  servers: {
    heading: 'server',
    columns: { single: 'one server', cluster: 'cluster of three primaries' },
    order: 'valkey-9 valkey-8.1 valkey-8 redis-8.6 redis-8.2 redis-7.4 redis-7.0 redis-6.2'.split(' '),
    left: {
      cluster:
        'clusters run on the newest server of each family only, because one takes as long as the contract on one server. One of Redis 6.2 would have no sharded messages',
    },
  },
  clients: {
    heading: 'client',
    columns: { single: 'one server', cluster: 'cluster of three primaries', sentinel: 'Sentinel' },
    order: ['ioredis6', 'ioredis5', 'iovalkey', 'noderedis6', 'noderedis5'],
    left: Object.fromEntries(
      ['single', 'cluster', 'sentinel'].map((column) => [
        column,
        `not run yet in this form: the machine was busy with the other cells; \`npm run test:clients -- --write-docs --on ${column}\` runs it`,
      ]),
    ),
  },
  runtimes: {
    heading: 'runtime',
    columns: { smoke: 'every entry of the packed packages', unit: 'unit tests' },
    order: ['node-26', 'node-24', 'node-22', 'node-20', 'bun', 'deno'],
    left: {
      unit: 'they run on Node 24, the reference, and on the newest Node. They need Jest with `--experimental-vm-modules`, an option of Node, so they were not tried on Bun and Deno',
    },
  },
  redisson: {
    heading: 'Redisson',
    columns: { plain: 'beside Holdfast', mapped: 'with a NameMapper' },
    order: [],
    left: {
      plain: 'that run was with a NameMapper alone (`--mapped`)',
      mapped: 'that run was without a NameMapper (`--plain`)',
    },
  },
}

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
    /(<!-- support: (\w+) -->\n)([\s\S]*?)(<!-- \/support -->|$)/g,
    (_all, begin, name, _old, end) => {
      if (end === '') throw new Error(`${page}: '${begin.trim()}' has no '<!-- /support -->' behind it`)
      if (!(name in TABLES))
        throw new Error(`${page}: '${begin.trim()}' names none of ${Object.keys(TABLES)}`)
      const lines = wholeTable(name, record[name] ?? {})
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
      .map((key) => `- ${what}, ${columns[key]}: ${SHORT[cells[key].state]}. ${reasonOf(cells[key])}`),
  )
  reasons.push(...whyLeft(name, sorted))
  return [
    inRow(head),
    inRow(head.map(() => '---')),
    ...lines,
    ...(reasons.length > 0 ? ['', ...reasons] : []),
  ]
}

/** The cause is written by hand, beside what was run: a name of a test says what failed, and seldom why. */
const reasonOf = ({ said, cause }) => (cause === undefined ? said : `${cause} (${said})`)

/** A line for each column that some rows have not. @throws when the table has no reason for it */
const whyLeft = (name, rows) => {
  const { columns, left } = TABLES[name]
  return Object.keys(columns).flatMap((key) => {
    const without = rows.filter(([, { cells }]) => cells[key] === undefined).map(([, { what }]) => what)
    if (without.length === 0) return []
    if (left[key] === undefined) throw new Error(`${name}: no reason for '–' in the column '${columns[key]}'`)
    return [`- –, ${columns[key]} (${without.join(', ')}): ${left[key]}.`]
  })
}

const wordsOf = (cell) => {
  if (cell === undefined) return '–'
  const words = cell.state === 'passed' ? `passed: ${cell.said}` : SHORT[cell.state]
  return cell.run === undefined ? words : `${words}; run ${cell.run}`
}
