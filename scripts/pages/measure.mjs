// Prints of each page how long it is and how easy it is to read. Arguments: the pages, default the README; `REVISION:page`
// is the page as it was in that revision, as in `node scripts/pages/measure.mjs HEAD~20:README.md README.md`.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { measure } from './reading-ease.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const textOf = (page) =>
  page.includes(':')
    ? execFileSync('git', ['show', page], { cwd: ROOT, encoding: 'utf8' })
    : readFileSync(page, 'utf8')

const pages =
  process.argv.length > 2
    ? process.argv.slice(2)
    : [fileURLToPath(new URL('../../README.md', import.meta.url))]
for (const page of pages) {
  const { lines, words, wordsPerSentence, ease } = measure(textOf(page))
  const figures = `${lines} lines, ${words} words, ${wordsPerSentence.toFixed(1)} words a sentence, reading ease ${ease.toFixed(0)}`
  console.log(`${page}: ${figures}`)
}
