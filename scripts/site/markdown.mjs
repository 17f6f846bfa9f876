import { posix } from 'node:path'

/** What GitHub lets a page have beside Markdown, as far as pages use it. Every other angle bracket is text. */
const TAGS = 'a|b|br|details|div|em|i|img|kbd|p|picture|source|strong|sub|summary|sup'
const FENCED = /^([ \t]*)(`{3,}|~{3,})[^\n]*\n[^]*?^\1\2[`~]*[ \t]*$/
const INLINE = /(?<!`)(`+)(?!`)(?:(?!\n\s*\n)[^])*?(?<!`)\1(?!`)/
const CODE = new RegExp(`${FENCED.source}|${INLINE.source.replaceAll('\\1', '\\3')}`, 'gm')
const COMMENT = /<!--[^]*?-->[ \t]*\n?/g
const LINK = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g
const ATTRIBUTE = /(<(?:a|img|source)\b[^>]*?\s)(href|src|srcset)="([^"]*)"/g
const NO_TAG = new RegExp(`(?<!\\\\)<(?!/?(?:${TAGS})\\b[^<>]*>|https?:|mailto:)`, 'gi')
/** Stands in for a piece of code: a character of private use, which no page has. */
const MASK = '\uE000'

/**
 * Calls `change` with a page whose code is out of reach, and puts the code back into what it returns.
 *
 * @param {string} text
 * @param {(prose: string) => string} change
 */
const outsideOfCode = (text, change) => {
  const codes = []
  const prose = text.replaceAll(CODE, (code) => `${MASK}${codes.push(code) - 1}${MASK}`)
  const restored = (part) =>
    part.replaceAll(new RegExp(`${MASK}(\\d+)${MASK}`, 'g'), (_, i) => codes[Number(i)])
  return restored(change(prose))
}

/** @param {string} prose without code: brackets of angles and of Vue become text; comments go */
const asText = (prose) =>
  prose
    .replaceAll(COMMENT, '')
    .replaceAll(NO_TAG, '&lt;')
    .replaceAll(/\{\{|\}\}/g, (brackets) => `<span v-pre>${brackets}</span>`)

/** A page that was made for the site: its links are right, and it may have what Vue would take for its own. */
export const withoutTags = (text) => outsideOfCode(text, asText)

/**
 * @typedef {object} Places where what a page links to is
 * @property {(file: string) => string | undefined} page the address of a file or folder that is a page of the site
 * @property {(file: string) => string} picture the address of a picture
 * @property {(file: string) => string} source what a file that is no page becomes: its path as code, or a link
 */

/**
 * A page of the repository as a page of the site.
 *
 * @param {string} text
 * @param {string} file its path in the repository, from which its links go
 * @param {Places} places
 */
export const asPageOfSite = (text, file, places) => {
  const addressOf = (target) => {
    const [path, anchor] = target.split('#')
    if (path === '' || /^[a-z]+:/i.test(target)) return { address: target }
    const name = posix.normalize(posix.join(posix.dirname(file), decodeURI(path))).replace(/\/$/, '')
    const address = places.page(name)
    const behind = anchor === undefined ? '' : `#${anchor}`
    return { name, address: address === undefined ? undefined : address + behind }
  }
  const link = (_, mark, label, target) => {
    const { name, address } = addressOf(target)
    if (mark === '!') return `![${label}](${name === undefined ? target : places.picture(name)})`
    const inside = label.replaceAll(LINK, link)
    if (address !== undefined) return `[${inside}](${address})`
    return isNameOf(label, name) ? places.source(name) : `${inside} (${places.source(name)})`
  }
  const attribute = (_, before, which, target) => {
    const { name, address } = addressOf(target)
    const place = which === 'href' ? address : name === undefined ? target : places.picture(name)
    if (place === undefined) throw new Error(`${file}: <a href="${target}"> leads to no page`)
    return `${before}${which}="${place}"`
  }
  // A link may have code in its text, which stays masked until all is done.
  return outsideOfCode(text, (prose) => asText(prose).replaceAll(LINK, link).replaceAll(ATTRIBUTE, attribute))
}

/** A text that is masked code is taken for the name of the file: nobody writes more of it in code. */
const isNameOf = (label, name) =>
  name.endsWith(label.replaceAll('`', '')) || new RegExp(`^${MASK}\\d+${MASK}$`).test(label)
