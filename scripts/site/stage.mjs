import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { HOME, ROOT, pagesOf, titleOf } from './pages.mjs'
import { asPageOfSite } from './markdown.mjs'

/** Where the sources of the site are put together, and where what is built of them goes. */
export const SOURCES = join(ROOT, 'build/site-src')
export const SITE = join(ROOT, 'build/site')

const HERE = join(ROOT, 'scripts/site')

/**
 * Puts the pages of the repository where VitePress finds them, with links that lead from there. The pages themselves stay
 * where they are: GitHub, npm and editors show them as they stand.
 *
 * @param {import('./pages.mjs').PageSection[]} sections
 */
export const stagePages = (sections) => {
  // What was built of the last pages is kept by nobody.
  rmSync(SOURCES, { recursive: true, force: true })
  const pages = pagesOf(sections)
  const places = placesOf(pages)
  put('index.md', asPageOfSite(read(HOME), HOME, places))
  for (const page of pages) {
    put(`${page.path}.md`, page.listed ? listOf(page) : asPageOfSite(read(page.file), page.file, places))
  }
  cpSync(join(ROOT, 'packages/board/page/icon.svg'), join(SOURCES, 'public/icon.svg'))
}

/**
 * @param {object} settings what `siteConfig` takes
 */
export const stageConfig = (settings) => {
  const folder = join(SOURCES, '.vitepress')
  const config = relative(folder, join(HERE, 'config.mjs'))
  put(
    '.vitepress/config.mjs',
    `import { siteConfig } from '${config}'\nexport default siteConfig(${JSON.stringify(settings)})\n`,
  )
  cpSync(join(HERE, 'theme'), join(folder, 'theme'), { recursive: true })
}

const read = (file) => readFileSync(join(ROOT, file), 'utf8')

const put = (path, text) => {
  mkdirSync(dirname(join(SOURCES, path)), { recursive: true })
  writeFileSync(join(SOURCES, path), text)
}

/** @returns {import('./markdown.mjs').Places} */
const placesOf = (pages) => {
  const addresses = new Map(pages.map(({ file, path }) => [file, `/${path}.md`]))
  for (const [file, address] of addresses) {
    if (file.endsWith('/README.md')) addresses.set(dirname(file), address)
  }
  addresses.set(HOME, '/index.md')
  const repository = repositoryUrl()
  const demand = (file) => {
    if (!existsSync(join(ROOT, file))) throw new Error(`a page links to ${file}, which is missing`)
  }
  return {
    page: (file) => addresses.get(file),
    picture: (file) => {
      demand(file)
      cpSync(join(ROOT, file), join(SOURCES, 'public', file))
      return `/${file}`
    },
    source: (file) => {
      demand(file)
      return repository === undefined ? `\`${file}\`` : `[\`${file}\`](${repository}/blob/HEAD/${file})`
    },
  }
}

/** Of package.json: known before the first release. */
const repositoryUrl = () => {
  const { repository } = JSON.parse(read('package.json'))
  return repository?.url.replace(/^git\+/, '').replace(/\.git$/, '')
}

/** A page that lists others: each with its title and how it begins. */
const listOf = ({ title, intro, listed }) => {
  const lines = listed.map(({ file, path }) => {
    const begin = file.startsWith('examples/') ? `: ${beginOf(read(file))}` : ''
    return `- [${titleOf(file)}](/${path}.md)${begin}`
  })
  return `# ${title}\n\n${intro}\n\n${lines.join('\n')}\n`
}

/** The first sentence below the title, without its links. */
const beginOf = (text) => {
  const paragraph = text.split(/\n\n/).find((each) => /^[A-Z]/.test(each)) ?? ''
  const [sentence] = paragraph.replaceAll('\n', ' ').split(/(?<=\.) /)
  return sentence.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
}
