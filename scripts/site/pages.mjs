import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publishedPackages } from '../packages/published-packages.mjs'
import { NAVIGATION } from './navigation.mjs'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** What the home page is made of. It is in no sidebar. */
export const HOME = 'docs/index.md'

/**
 * @typedef {object} Page
 * @property {string} file in the repository; of a list of pages, its folder
 * @property {string} path on the site, without a slash before and an extension behind: `guide/fair-lock`
 * @property {string} title in the sidebar
 * @property {string} [intro] of a list of pages, what stands above it
 * @property {Page[]} [listed] the pages that it lists
 *
 * @typedef {{ title: string, pages: Page[], list?: Page }} PageGroup `list` shows all that a long group has
 * @typedef {{ title: string, path: string, groups: PageGroup[] }} PageSection
 */

/**
 * The pages of the navigation.
 *
 * @returns {PageSection[]}
 * @throws {Error} a page is missing, or a page of the repository is not in the navigation
 */
export const sections = () => {
  const made = NAVIGATION.map(({ title, path, groups }) => ({
    title,
    path,
    groups: groups.map((group) => groupOf(group, path)),
  }))
  const files = pagesOf(made).map(({ file }) => file)
  const wrong = [
    ...toBeNamed()
      .filter((file) => !files.includes(file))
      .map((file) => `${file} is not in the navigation`),
    ...files.filter((file, i) => files.indexOf(file) !== i).map((file) => `${file} is there twice`),
  ]
  if (wrong.length > 0) throw new Error(`scripts/site/navigation.mjs: ${wrong.join('; ')}`)
  return made
}

/**
 * Those of the groups, and those that list them.
 *
 * @param {PageSection[]} all
 */
export const pagesOf = (all) =>
  all.flatMap(({ groups }) => groups.flatMap(({ list, pages }) => (list ? [list, ...pages] : pages)))

const groupOf = ({ title, pages = [], all, intro }, section) => {
  if (all === undefined) return { title, pages: pages.map((each) => pageOf(each, section)) }
  const listed = filesOf(all).map((file) => pageOf(file, section))
  const path = `${section}/${all.replace('docs/', '')}/index`
  return { title, pages: listed, list: { file: all, path, title, intro, listed } }
}

const pageOf = (named, section) => {
  const [file, title] = typeof named === 'string' ? [named] : named
  if (!existsSync(join(ROOT, file)))
    throw new Error(`scripts/site/navigation.mjs: ${file} is named, and missing`)
  return { file, path: `${section}/${nameOf(file)}`, title: title ?? titleOf(file) }
}

export const titleOf = (file) => {
  const [, title] = /^# (.+)$/m.exec(readFileSync(join(ROOT, file), 'utf8')) ?? []
  if (title === undefined) throw new Error(`${file} has no title`)
  return title
}

/** `docs/fair-lock.md` is fair-lock, `packages/otel/README.md` is packages/otel, `CHANGELOG.md` is changelog. */
const nameOf = (file) =>
  file
    .replace(/^docs\//, '')
    .replace(/\/src\//, '/')
    .replace(/(?<=\/)README\.md$|\.md$/, '')
    .replace(/\/$/, '')
    .replace(/^[A-Z]+$/, (name) => name.toLowerCase())

const namesIn = (folder) =>
  readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => !entry.isFile() || entry.name.endsWith('.md'))
    .map(({ name }) => name)
    .sort()

const filesOf = (folder) =>
  folder === 'examples'
    ? namesIn(folder)
        .map((name) => `${folder}/${name}/README.md`)
        .filter((file) => existsSync(join(ROOT, file)))
    : namesIn(folder).map((name) => `${folder}/${name}`)

/** Whoever writes one of these means it to be read. */
const toBeNamed = () => [
  ...namesIn('docs')
    .map((name) => `docs/${name}`)
    .filter((file) => file.endsWith('.md') && file !== HOME),
  ...publishedPackages().map(({ folder }) => `${folder.slice(ROOT.length)}/README.md`),
]
