import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publishedPackages } from '../../scripts/packages/published-packages.mjs'
import { NAVIGATION, SHORT_TITLES } from './navigation.mjs'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const HOME = 'docs/index.md'

const read = (file) => readFileSync(join(ROOT, file), 'utf8')
const pagesIn = (folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)

/** `docs/fair-lock.md` is guide/fair-lock.md, `packages/otel/README.md` is guide/packages/otel/index.md. */
const addressOf = (section, file) =>
  `${section}/${file
    .replace(/^docs\//, '')
    .replace(/\/src\//, '/')
    .replace(/(?<=\/)README\.md$/, 'index.md')
    .replace(/^[A-Z]+(?=\.md$)/, (name) => name.toLowerCase())}`

/** The navigation, with where each page is on the site. */
export const groups = Object.entries(NAVIGATION).flatMap(([section, all]) =>
  Object.entries(all).map(([title, named]) => {
    const files = named === 'decisions' ? pagesIn('docs/decisions') : named
    return { section, title, pages: files.map((file) => ({ file, address: addressOf(section, file) })) }
  }),
)

/** Where each page of the repository is on the site. */
export const addresses = new Map(
  groups.flatMap(({ pages }) => pages.map(({ file, address }) => [file, address])),
)
addresses.set(HOME, 'index.md')

const meant = [
  ...pagesIn('docs'),
  ...publishedPackages().map(({ folder }) => `${relative(ROOT, folder)}/README.md`),
  ...readdirSync(join(ROOT, 'examples'))
    .map((name) => `examples/${name}/README.md`)
    .filter((file) => existsSync(join(ROOT, file))),
]
const wrong = [
  ...meant.filter((file) => !addresses.has(file)).map((file) => `${file} is not in the navigation`),
  ...[...addresses.keys()]
    .filter((file) => !existsSync(join(ROOT, file)))
    .map((file) => `${file} is missing`),
]
if (wrong.length > 0) throw new Error(`docs/.vitepress/navigation.mjs: ${wrong.join('; ')}`)

/** The rewrites of VitePress. TypeDoc's pages are in build/reference. @param {string} file */
export const siteAddress = (file) => addresses.get(file) ?? file.replace(/^build\//, '')

export const titleOf = (file) => SHORT_TITLES[file] ?? /^# (.+)$/m.exec(read(file))[1]
const linkTo = (address) => `/${address.replace(/(index)?\.md$/, '')}`

/** @param {{ name: string, address: string, members: object[] }[]} entries what has a reference */
export const sidebarsOf = (entries) => {
  const sidebars = Object.fromEntries(Object.keys(NAVIGATION).map((section) => [`/${section}/`, []]))
  for (const { section, title, pages } of groups) {
    const items = pages.map(({ file, address }) => ({ text: titleOf(file), link: linkTo(address) }))
    sidebars[`/${section}/`].push({ text: title, items })
  }
  // Beside an entry of a package: what it has. All that all have would be a list of hundreds on every page.
  const apiOf = (open) => ({
    text: 'API',
    items: [
      { text: 'All packages', link: '/reference/' },
      ...entries.map(({ name, address, members }) => ({
        text: name,
        link: address,
        ...(address === open && members.length > 0 ? { collapsed: false, items: members } : {}),
      })),
    ],
  })
  const packages = sidebars['/reference/']
  for (const { address } of entries) sidebars[address] = [apiOf(address), ...packages]
  sidebars['/reference/'] = [apiOf(), ...packages]
  return sidebars
}
