import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inShort } from './in-short.mjs'
import { chartsOf, report } from './report.mjs'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const DOCS = join(ROOT, 'docs')
const PLOTS = 'plots'
const WHOLE = 'bench'
const IN_SHORT = 'in short'

/** @param {object} run @param {string} folder */
export const writePlots = async (run, folder) => {
  await mkdir(folder, { recursive: true })
  for (const { file, svg } of chartsOf(run)) await writeFile(join(folder, file), svg)
}

/**
 * Puts the tables of a run and its plots into docs/performance.md, and a few of its figures there and into the README.
 *
 * @param {object} run
 */
export const writeDocs = async (run) => {
  await writePlots(run, join(DOCS, PLOTS))
  await putBetweenMarks(join(DOCS, 'performance.md'), WHOLE, report(run, PLOTS))
  await putBetweenMarks(join(DOCS, 'performance.md'), IN_SHORT, inShort(run))
  await putBetweenMarks(join(ROOT, 'README.md'), WHOLE, inShort(run))
}

const putBetweenMarks = async (file, mark, tables) => {
  const [first, last] = [`<!-- ${mark}: begin -->`, `<!-- ${mark}: end -->`]
  const page = await readFile(file, 'utf8')
  const [begin, end] = [page.indexOf(first), page.indexOf(last)]
  if (begin < 0 || end < begin) throw new Error(`${file} has no place for the tables: ${first} … ${last}`)
  await writeFile(file, `${page.slice(0, begin + first.length)}\n\n${tables}\n\n${page.slice(end)}`)
}
