import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inShort } from './in-short.mjs'
import { chartsOf, report } from './report.mjs'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const DOCS = join(ROOT, 'docs')
const PLOTS = 'plots'
const [BEGIN, END] = ['<!-- bench: begin -->', '<!-- bench: end -->']

/** @param {object} run @param {string} folder */
export const writePlots = async (run, folder) => {
  await mkdir(folder, { recursive: true })
  for (const { file, svg } of chartsOf(run)) await writeFile(join(folder, file), svg)
}

/**
 * Puts the tables of a run and its plots into docs/performance.md, and a few of its figures into the README.
 *
 * @param {object} run
 */
export const writeDocs = async (run) => {
  await writePlots(run, join(DOCS, PLOTS))
  await putBetweenMarks(join(DOCS, 'performance.md'), report(run, PLOTS))
  await putBetweenMarks(join(ROOT, 'README.md'), inShort(run))
}

const putBetweenMarks = async (file, tables) => {
  const page = await readFile(file, 'utf8')
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`${file} has no place for the tables: ${BEGIN} … ${END}`)
  await writeFile(file, `${page.slice(0, begin + BEGIN.length)}\n\n${tables}\n\n${page.slice(end)}`)
}
