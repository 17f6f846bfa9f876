// The tables of docs/servers.md, docs/clients.md and docs/schedule.md: each row runs the real thing, and fails when its answer
// is not the cell of the page. The last column, what follows from a row, is written on the page alone.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseOptions, requireKnown, UsageError } from '../../../scripts/command-line.mjs'
import { runCommand } from '../../../scripts/run-command.mjs'

const ROOT = join(import.meta.dirname, '../../..')
const PAGES = { servers: 'docs/servers.md', clients: 'docs/clients.md', schedulers: 'docs/schedule.md' }
const LIMIT_MS = 20_000
const NOT_RUN = 'not run'
const USAGE = `Usage: npm run test:behaviour -- [servers|clients|schedulers] [options]

  --row TEXT     rows whose name contains the text; may be given again
  --on COLUMN    one column; may be given again
  --quick        a dozen rows that take milliseconds, on the programs of this machine or the cache
  --write-docs   writes the answers into the tables
  --help

Servers and packages are fetched into ~/.cache/holdfast (or HOLDFAST_CACHE). One that cannot be had is not run, and said.
Exit code: 0 every answer is that of the page, 1 some are not, 2 the arguments are wrong.`

const parseArguments = (args) => {
  const pages = args.filter((each) => !each.startsWith('--') && each in PAGES)
  const { row, on, ...values } = parseOptions(
    args.filter((each) => !pages.includes(each)),
    {
      row: { type: 'string', multiple: true, default: [] },
      on: { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
      'write-docs': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  )
  if (values.quick && values['write-docs']) throw new UsageError('--quick runs a few rows: it writes no page')
  return { ...values, row, on, pages: pages.length > 0 ? pages : Object.keys(PAGES) }
}

const MARKS = (name) => new RegExp(`(<!-- behaviour: ${name} -->\\n)([^]*?)(<!-- /behaviour -->)`)
const inRow = (cells) => `| ${cells.join(' | ')} |`
const cellText = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

/** The cells of the page, by row and column. */
const cellsOn = (page, name) => {
  const cells = new Map()
  let head = []
  for (const line of (MARKS(name).exec(page)?.[2] ?? '').split('\n')) {
    const all = line.split(/(?<!\\) ?\| ?/).slice(1, -1)
    if (line.startsWith('| --')) continue
    if (line.startsWith('| |') || line.startsWith('|  |')) head = all
    else if (all.length > 0) cells.set(all[0], new Map(head.map((column, i) => [column, all[i]])))
  }
  return cells
}

const tablesOf = ({ rows, columns, last }, cells) =>
  [...new Set(rows.map(({ group }) => group))].flatMap((group) => [
    ...(group ? ['', `### ${group}`, ''] : ['']),
    inRow(['', ...columns, last]),
    inRow(['', ...columns, last].map(() => '---')),
    ...rows
      .filter((row) => row.group === group)
      .map(({ what }) => {
        const known = cells.get(what)
        return inRow([what, ...columns.map((each) => known?.get(each) ?? NOT_RUN), known?.get(last) ?? ''])
      }),
  ])

const limited = async (work) => {
  const limit = new AbortController()
  const late = sleep(LIMIT_MS, undefined, { signal: limit.signal, ref: false }).then(
    () => `no answer in ${LIMIT_MS / 1_000} s`,
    () => undefined,
  )
  try {
    return await Promise.race([work().catch((error) => `failed: ${error.message}`), late])
  } finally {
    limit.abort()
  }
}

// When its connection ends, a library may reject a promise that only it knows. No row is about that.
process.on('unhandledRejection', () => undefined)

await runCommand({
  ...{ parseArguments, USAGE },
  run: async ({ pages, row: wanted, on, quick, 'write-docs': writeDocs }) => {
    let agrees = true
    let ran = 0
    let slowest = { seconds: 0, what: 'none' }
    for (const name of pages) {
      const table = await import(`./${name}.mjs`)
      const { columns, rows, open } = table
      requireKnown('on', on, columns)
      const file = join(ROOT, PAGES[name])
      const page = await readFile(file, 'utf8')
      const cells = cellsOn(page, name)
      const chosen = rows.filter(
        ({ what, isQuick }) =>
          (!quick || isQuick) && (wanted.length === 0 || wanted.some((text) => what.includes(text))),
      )
      const runColumn = async (column) => {
        const opened = await open(column)
        if (opened.reason) {
          console.log(`${name}, ${column}: not run: ${opened.reason}`)
          return
        }
        for (const { what, run } of chosen) {
          const startedAt = performance.now()
          const expected = cells.get(what)?.get(column)
          const ask = async () => cellText(String(await limited(() => opened.run(run))))
          let answer = await ask()
          // A machine that stands still makes another answer once; what a server or a client does, it does again.
          if (answer !== expected) answer = await ask()
          const seconds = (performance.now() - startedAt) / 1_000
          if (seconds > slowest.seconds) slowest = { seconds, what: `${name}, ${column}: ${what}` }
          ran += 1
          if (writeDocs) cells.set(what, (cells.get(what) ?? new Map()).set(column, answer))
          if (answer === expected) continue
          agrees = writeDocs && agrees
          console.log(
            `${name}, ${column}: ${what}: ${answer}${writeDocs ? '' : `; the page says ${expected}`}`,
          )
        }
        await opened.close()
      }
      const asked = quick ? [table.quickColumn] : on.length > 0 ? on : columns
      if (table.atOnce) await Promise.all(asked.map(runColumn))
      else for (const column of asked) await runColumn(column)
      if (writeDocs) {
        const text = [...tablesOf(table, cells), '', ''].join('\n')
        await writeFile(
          file,
          page.replace(MARKS(name), (_, begin, __, end) => begin + text + end),
        )
      }
    }
    console.log(`the slowest row: ${slowest.seconds.toFixed(1)} s of ${LIMIT_MS / 1_000}: ${slowest.what}`)
    console.log(`${ran} answers${agrees ? '' : ', some are not those of the page'}`)
    return agrees
  },
})
process.exit()
