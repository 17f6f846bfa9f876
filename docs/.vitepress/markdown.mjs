import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { addresses, ROOT, siteAddress } from './pages.mjs'

/** Addresses in package.json: known before the first release. */
const repository = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).repository?.url.replace(
  /^git\+|\.git$/g,
  '',
)

/**
 * Where a link of a page leads on the site, or undefined: to a file that is no page.
 *
 * @param {string} page absolute
 * @param {string} href from there
 */
export const targetOf = (page, href) => {
  const [path, anchor] = href.split('#')
  const place = join(dirname(page), decodeURI(path))
  if (!existsSync(place)) throw new Error(`${relative(ROOT, page)} links to ${href}, which is missing`)
  const file = relative(ROOT, place)
  const inside = statSync(place).isDirectory()
    ? [...addresses.keys()].filter((each) => each.startsWith(file))
    : []
  const target = inside.find((each) => each === join(file, 'README.md')) ?? inside[0] ?? file
  if (target.endsWith('.md') && (addresses.has(target) || target.startsWith('build/')))
    return `/${siteAddress(target)}${anchor === undefined ? '' : `#${anchor}`}`
  return repository && `${repository}/blob/HEAD/${file}`
}

/**
 * A plugin of markdown-it. The pages of the repository were written for GitHub: angle brackets and braces are text,
 * comments are for who writes the page, and links lead from where it stands. TypeDoc writes anchors and breaks.
 */
export const asOnGitHub = (md) => {
  const text = (content) => md.utils.escapeHtml(content).replaceAll('{{', '&#123;&#123;')
  const html = (content) =>
    content.startsWith('<!--') ? '' : /^<(a id="[^"]*"|\/a|br \/)>/.test(content) ? content : text(content)
  md.renderer.rules.text = (tokens, i) => text(tokens[i].content)
  for (const kind of ['html_inline', 'html_block'])
    md.renderer.rules[kind] = (tokens, i) => html(tokens[i].content)
  md.core.ruler.push('links-of-repository', ({ tokens, env }) => {
    // While a page is built `path` is its place on the site; the index of the search has only `path`.
    const page = env.realPath ?? env.path
    for (const { children } of tokens) {
      for (const [i, token] of (children ?? []).entries()) {
        const href = token.type === 'link_open' ? token.attrGet('href') : ''
        if (href === '' || /^([a-z]+:|[/#])/i.test(href)) continue
        const target = targetOf(page, href)
        if (target !== undefined) token.attrSet('href', target)
        else {
          const end = children.findIndex((each, at) => at > i && each.type === 'link_close')
          for (const each of [token, children[end]]) each.tag = 'span'
          token.type = 'span_open'
          token.attrs = [['title', relative(ROOT, join(dirname(page), href))]]
        }
      }
    }
  })
}
