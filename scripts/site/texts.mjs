import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { targetOf } from '../../docs/.vitepress/markdown.mjs'
import { addresses, groups, ROOT, titleOf } from '../../docs/.vitepress/pages.mjs'
import { filesBelow } from '../packages/files-below.mjs'

const LINK = /(!?)\[([^\]]*)\]\(([^)\s]+)\)/g
/** Every second part is a block of code. */
const partsOf = (text) => text.split(/(^```[^]*?^```$)/m)

/**
 * Writes every page of the site as Markdown beside its HTML, and `llms.txt`, which lists them, for programs that read.
 *
 * @param {string} site the folder of the built site
 * @param {string} reference the folder of TypeDoc's pages
 */
export const writeTexts = (site, reference) => {
  const write = (address, text) => {
    mkdirSync(dirname(join(site, address)), { recursive: true })
    writeFileSync(join(site, address), text)
  }
  for (const [file, address] of addresses) write(address, onSite(join(ROOT, file)))
  const others = filesBelow(reference).filter((file) => file.endsWith('.md'))
  for (const file of others) write(`reference/${file}`, onSite(join(reference, file)))
  const { description } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const lists = groups.map(({ section, title, pages }) => {
    const lines = pages.map(({ file, address }) => `- [${titleOf(file)}](/${address})`)
    return `## ${section === 'guide' ? '' : `${section}: `}${title}\n\n${lines.join('\n')}\n`
  })
  write('llms.txt', `# Holdfast\n\n> ${description}\n\n${lists.join('\n')}`)
}

/** The text of a page, with links that lead to texts of the site. */
const onSite = (page) => {
  const relink = (all, mark, label, href) => {
    if (/^([a-z]+:|[/#])/i.test(href)) return all
    const target = mark === '!' ? undefined : targetOf(page, href)
    return target === undefined ? label : `[${label}](${target})`
  }
  return partsOf(readFileSync(page, 'utf8'))
    .map((part, i) => (i % 2 === 0 ? part.replaceAll(LINK, relink) : part))
    .join('')
}

/**
 * Follows the links of the texts.
 *
 * @param {string} site
 * @param {string[]} expected paths of pages that have to be there, without an extension
 * @returns {string[]} faults
 */
export const checkTexts = (site, expected) => {
  const missing = expected.filter((path) => !existsSync(join(site, `${path}.md`)))
  const texts = filesBelow(site).filter((file) => /\.md$|^llms\.txt$/.test(file))
  const dead = texts.flatMap((file) =>
    partsOf(readFileSync(join(site, file), 'utf8'))
      .filter((_, i) => i % 2 === 0)
      .flatMap((part) => [...part.matchAll(LINK)].map(([, , , href]) => href.split('#')[0]))
      .filter((path) => path.startsWith('/') && !existsSync(join(site, path)))
      .map((path) => `${file}: ${path} leads nowhere`),
  )
  return [...missing.map((path) => `${path}.md was not written`), ...dead]
}
