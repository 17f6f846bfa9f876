import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { filesBelow } from '../packages/files-below.mjs'

// In built HTML a `<` of a text is written `&lt;`: what looks like a tag is one.
const LINK = /<([a-z]+)\b[^<>]*?\s(href|src|srcset)="([^"]*)"/g
const ID = /<[a-z][\w-]*\b[^<>]*?\sid="([^"]*)"/g

/**
 * Follows every link of every built page.
 *
 * @param {string} folder the built site
 * @param {string[]} expected paths of pages that have to be there, without an extension
 * @returns {{ pages: number, links: number, dead: string[] }}
 */
export const checkLinks = (folder, expected) => {
  const files = filesBelow(folder)
  const pages = files.filter((file) => file.endsWith('.html'))
  const ids = new Map()
  const html = new Map(pages.map((page) => [page, readFileSync(join(folder, page), 'utf8')]))
  for (const [page, text] of html) ids.set(page, new Set([...text.matchAll(ID)].map(([, id]) => decoded(id))))

  const dead = expected.filter((path) => !ids.has(`${path}.html`)).map((path) => `${path}: was not built`)
  let links = 0
  for (const [page, text] of html) {
    for (const target of new Set([...text.matchAll(LINK)].map(linkOf))) {
      links += 1
      const fault = faultOf(target, page, ids, folder)
      if (fault) dead.push(`${page}: ${target.address} ${fault}`)
    }
  }
  return { pages: pages.length, links, dead: [...new Set(dead)] }
}

const linkOf = ([, tag, attribute, value]) => ({ tag, attribute, address: decoded(value) })

const faultOf = ({ tag, address }, page, ids, folder) => {
  // A link that a reader may click on leads where it likes; what the browser loads by itself stays here.
  if (/^(https?:|mailto:|\/\/)/.test(address)) return tag === 'a' ? '' : 'is loaded from another host'
  if (address.startsWith('data:')) return ''
  const [path, anchor] = address.split('#')
  const file = path === '' ? page : fileOf(posix.join('/', posix.dirname(page), path), path, folder)
  if (file === undefined) return 'leads nowhere'
  const isThere = anchor === undefined || anchor === '' || ids.get(file)?.has(decodeURIComponent(anchor))
  return isThere ? '' : 'has no such anchor'
}

const fileOf = (relative, path, folder) => {
  const name = decodeURIComponent(path.startsWith('/') ? path : relative).slice(1)
  const file = name === '' || name.endsWith('/') ? `${name}index.html` : name
  return existsSync(join(folder, file)) ? file : undefined
}

const ENTITIES = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }
const decoded = (text) => text.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity])
