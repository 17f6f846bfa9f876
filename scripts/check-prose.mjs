// Looks on the pages for mistakes of spelling and grammar, for sentences that are too long, and for replaced words. Arguments:
// pages to look at, default all. Harper checks them; nothing leaves the machine.
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { proseLinter } from './pages/prose.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BUILT = /(^|\/)(node_modules|dist|build|coverage|\.[^/]+)(\/|$)/

const filesBelow = (folder) =>
  readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (BUILT.test(path)) return []
    return entry.isDirectory() ? filesBelow(path) : [path]
  })

const files = filesBelow('.')
const isPage = (file) => file.endsWith('.md') && !file.startsWith('etc/')
const isSource = (file) => /\.(ts|mjs|lua)$|(^|\/)package\.json$/.test(file) && !/(^|\/)test\//.test(file)

/** Names in the sources: each identifier, whole and by its parts. */
const namesInSources = () => {
  const names = new Set()
  for (const file of files.filter(isSource)) {
    for (const [name] of readFileSync(join(ROOT, file), 'utf8').matchAll(/[A-Za-z]{2,}/g)) {
      names.add(name.toLowerCase())
    }
  }
  return names
}

/** Words that the table of CONTRIBUTING.md replaced. To hand over is left to pages about holds that go to another process. */
const REPLACED = [
  { word: /\bpossessions?\b/i, say: 'the entry, or the hold' },
  { word: /\b(the|an owner's) latch (refuses|that the release)\b/i, say: 'the tombstone' },
  { word: /\bhand(s|ed|ing)?[- ]overs?\b/i, say: 'pass, grant or hand-off', unless: /handover\.md|travel/ },
]
const replacedIn = (text) =>
  REPLACED.filter(({ unless }) => !unless?.test(text)).flatMap(({ word, say }) =>
    text
      .split('\n')
      .flatMap((each, i) => (word.test(each) ? [{ line: i + 1, word: word.exec(each)[0], say }] : [])),
  )
/** Its table names them. */
const hasTable = (file) => file.endsWith('CONTRIBUTING.md')

const wanted = process.argv.slice(2).map((file) => resolve(file))
const pages = wanted.length > 0 ? wanted : files.filter(isPage).map((file) => join(ROOT, file))
const linter = await proseLinter(namesInSources())
let count = 0
for (const file of pages) {
  for (const { line, word, say } of hasTable(file) ? [] : replacedIn(readFileSync(file, 'utf8'))) {
    count += 1
    console.error(
      `${relative(process.cwd(), file)}:${line}: "${word}" was replaced: ${say} (CONTRIBUTING.md)`,
    )
  }
  for (const { line, rule, message, text } of await linter.findIn(readFileSync(file, 'utf8'))) {
    count += 1
    console.error(`${relative(process.cwd(), file)}:${line}: ${message} [${rule}] "${text}"`)
  }
}
if (count > 0) {
  console.error(`\n${count} mistakes. A term or a name that is none goes into scripts/pages/words.txt.`)
  process.exitCode = 1
} else {
  console.log('no mistakes found on the pages')
}
