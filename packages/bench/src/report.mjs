import { SETTINGS } from './cells.mjs'

const HEAD = ['contestant', 'pairs/s', 'min to max', 'client µs', 'Redis µs', 'of raw', 'of best peer']

const thousands = (value) => Math.round(value).toLocaleString('en-GB')
const ratio = (value) => (value === undefined ? '' : value.toFixed(2))

const rowOf = (each) => {
  if (each.failure !== undefined) return [each.name, `failed: ${each.failure}`, '', '', '', '', '']
  const { median, min, max } = each.pairsPerSecond
  return [
    each.name,
    thousands(median),
    `${thousands(min)} to ${thousands(max)}`,
    each.clientMicros.median.toFixed(1),
    each.redisMicros.median.toFixed(1),
    ratio(each.ofRaw),
    ratio(each.ofBestPeer),
  ]
}

/** A table in Markdown that can be read as it is. */
const table = (rows) => {
  const widths = HEAD.map((_, column) => Math.max(...[HEAD, ...rows].map((row) => row[column].length)))
  const pad = (text, column) => (column === 0 ? text.padEnd(widths[0]) : text.padStart(widths[column]))
  const line = (cells) => `| ${cells.map(pad).join(' | ')} |`
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [line(HEAD), line(rule), ...rows.map(line)].join('\n')
}

const describe = ({ machine, redis, versions, flows, rounds, ms, load }) => [
  `Node ${machine.node}, ioredis ${machine.ioredis}, ${redis}; ${machine.cpu}, ${machine.cpus} CPUs, ${machine.system}`,
  Object.entries(versions)
    .map(([name, version]) => `${name} ${version ?? '(not installed)'}`)
    .join(', '),
  `${flows} parallel flows, ${rounds} interleaved rounds of ${ms} ms each; load average ${load.before} before, ${load.after} after`,
]

/** @returns {string} the run for people, and for docs/performance.md */
export const report = (run) => {
  const sections = SETTINGS.map(({ id, title }) => {
    const rows = run.results.filter((each) => each.setting === id).map(rowOf)
    return `${title}\n\n${table(rows)}`
  })
  const missing = run.missing.map(
    ({ name, reason }) => `Left out: ${name} does not load on this Node: ${reason}`,
  )
  const bars = ['Bars, at equal settings:', ...run.bars.map((each) => each.text)]
  return [describe(run).join('\n'), ...sections, ...missing, bars.join('\n')].join('\n\n')
}
