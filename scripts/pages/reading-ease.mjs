import { syllable } from 'syllable'

/** A page without what nobody reads as sentences: code, tables, pictures, comments, and where links lead. */
const proseOf = (page) =>
  page
    .replaceAll(/^```[^]*?^```$/gm, '')
    .replaceAll(/<!--[^]*?-->/g, '')
    .replaceAll(/^\|.*$/gm, '')
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/^(#+|-|\d+\.) (.*?)[.:;]?$/gm, '$2.')
    .replaceAll(/[`*_]/g, '')

const lettersOf = (word) => word.replaceAll(/[^\p{L}]/gu, '')

/**
 * How long a page is, and how easy to read: Flesch's reading ease of its prose, from about 0 (very hard) to 100. Technical
 * pages have 40 to 60.
 *
 * @param {string} page Markdown
 */
export const measure = (page) => {
  const prose = proseOf(page)
  const sentences = prose.split(/[.!?:](?=\s|$)/).filter((sentence) => /\p{L}/u.test(sentence))
  const words = prose.split(/\s+/).filter((word) => lettersOf(word) !== '')
  const syllables = words.reduce((sum, word) => sum + Math.max(1, syllable(lettersOf(word))), 0)
  const wordsPerSentence = words.length / sentences.length
  return {
    lines: page.trimEnd().split('\n').length,
    words: page.split(/\s+/).filter(Boolean).length,
    wordsPerSentence,
    ease: 206.835 - 1.015 * wordsPerSentence - 84.6 * (syllables / words.length),
  }
}
