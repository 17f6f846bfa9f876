import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format } from 'prettier'
import { run } from '../redis/run.mjs'
import { PAGES, withTables } from './tables.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FILE = 'docs/support.json'
/** Names of as many failed tests, so that a page stays legible. */
const MOST_NAMES = 3

/**
 * @typedef {object} Cell what came of one run
 * @property {'passed' | 'failed' | 'missing'} state `missing`: it could not be run here
 * @property {string} said how much was run, or why it failed or was not run
 * @property {string} [cause] of a failure, written by hand: each failed cell of the record needs one, and a run that
 *   fails in the same tests again keeps it
 * @property {string} [run] its date and commit, where those of its row are later
 *
 * @typedef {{ what: string, date: string, commit: string, cells: Record<string, Cell> }} Row
 *   of the record docs/support.json, which has one for each server, runtime, client and version of Redisson
 *
 * @typedef {object} Outcome of tests
 * @property {number} passed
 * @property {number} failed
 * @property {readonly string[]} failures the name of each, and why in the lines below
 * @property {readonly string[]} [again] suites that failed once beside the others, and passed alone
 */

/** The commit of this checkout. @throws when it has changes that no commit has, other than in the record */
export const cleanCommit = async () => {
  const except = [FILE, ...PAGES].map((path) => `:(exclude)${path}`)
  const changes = await run('git', ['status', '--porcelain', '--', '.', ...except], { cwd: ROOT })
  if (changes !== '') throw new Error(`--write-docs: there are changes that no commit has:\n${changes}`)
  return (await run('git', ['rev-parse', '--short=7', 'HEAD'], { cwd: ROOT })).trim()
}

/**
 * Puts rows into the record, in the place of those of the same name, and writes the tables anew. A cell that is not
 * given is kept, with the commit that it is of: long runs may be made in parts.
 *
 * @param {'servers' | 'runtimes' | 'clients' | 'redisson'} table
 * @param {string} commit what was run
 * @param {Record<string, Pick<Row, 'what' | 'cells'>>} rows by name
 */
export const publish = async (table, commit, rows) => {
  const record = JSON.parse(await readFile(join(ROOT, FILE), 'utf8'))
  const date = new Date().toISOString().slice(0, 10)
  record[table] ??= {}
  for (const [name, { what, cells }] of Object.entries(rows)) {
    const before = record[table][name]
    const kept = before?.commit === commit ? before.cells : earlierCells(before)
    const written = Object.entries(cells).map(([column, cell]) => [
      column,
      withCause(cell, before?.cells[column]),
    ])
    record[table][name] = { what, date, commit, cells: { ...kept, ...Object.fromEntries(written) } }
  }
  // A cell is a line: short to read in a diff.
  await writeFile(join(ROOT, FILE), await format(JSON.stringify(record), { parser: 'json', printWidth: 110 }))
  for (const page of PAGES) {
    const path = join(ROOT, page)
    await writeFile(path, withTables(page, await readFile(path, 'utf8'), record))
  }
}

/** @param {Row | undefined} row which is of another commit */
const earlierCells = ({ date, commit, cells } = { cells: {} }) =>
  Object.fromEntries(
    Object.entries(cells).map(([column, cell]) => [column, { run: `${date}, \`${commit}\``, ...cell }]),
  )

/** @param {Cell} cell @param {Cell | undefined} before */
const withCause = (cell, before) =>
  cell.state === 'failed' && before?.cause !== undefined && before.said === cell.said
    ? { ...cell, cause: before.cause }
    : cell

/**
 * A cell of what Jest ran.
 *
 * @param {Outcome} outcome
 * @param {string} extent which tests these are
 * @param {boolean} [counted] whether their number says something
 * @returns {Cell}
 */
export const cellOf = ({ passed, failed, failures, again = [] }, extent, counted = true) => {
  if (passed > 0 && failed === 0) {
    const tests = counted ? `, ${passed.toLocaleString('en-US')} tests` : ''
    const second = again.length > 0 ? `; ${again.join(', ')} in a second run, alone` : ''
    return { state: 'passed', said: extent + tests + second }
  }
  const others = failures.length - MOST_NAMES
  const names = failures.slice(0, MOST_NAMES).map((each) => `\`${each.split('\n')[0].replaceAll('`', "'")}\``)
  if (others > 0) names.push(`and ${others} more`)
  return { state: 'failed', said: `${extent}, ${failed} of ${passed + failed} failed: ${names.join('; ')}` }
}
