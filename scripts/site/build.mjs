import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'vitepress'
import { pagesOf, ROOT, sections } from './pages.mjs'
import { writeReference } from './reference.mjs'
import { navigationOf } from './sidebar.mjs'
import { SITE, SOURCES, stageConfig, stagePages } from './stage.mjs'

/**
 * Builds the site into `build/site`.
 *
 * @returns {Promise<string[]>} the paths of its pages, without an extension
 */
export const buildSite = async () => {
  const all = sections()
  stagePages(all)
  const entries = await writeReference(join(SOURCES, 'reference'))
  const { description } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  stageConfig({ ...navigationOf(all, entries), description })
  rmSync(SITE, { recursive: true, force: true })
  await build(SOURCES)
  return ['index', ...pagesOf(all).map(({ path }) => path), ...entries.flatMap(({ paths }) => paths)]
}
