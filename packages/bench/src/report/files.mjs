import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chartsOf, report } from './report.mjs'

const DOCS = fileURLToPath(new URL('../../../../docs/', import.meta.url))
const PLOTS = 'plots'
const [BEGIN, END] = ['<!-- bench: begin -->', '<!-- bench: end -->']

/** @param {object} run @param {string} folder */
export const writePlots = async (run, folder) => {
  await mkdir(folder, { recursive: true })
  for (const { file, svg } of chartsOf(run)) await writeFile(join(folder, file), svg)
}

/** Puts the tables of a run and its plots into docs/performance.md, between its marks. @param {object} run */
export const writeDocs = async (run) => {
  const file = join(DOCS, 'performance.md')
  const page = await readFile(file, 'utf8')
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`${file} has no place for the tables: ${BEGIN} … ${END}`)
  await writePlots(run, join(DOCS, PLOTS))
  const tables = report(run, PLOTS)
  await writeFile(file, `${page.slice(0, begin + BEGIN.length)}\n\n${tables}\n\n${page.slice(end)}`)
}
