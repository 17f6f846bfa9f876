// Looks for mistakes of spelling and grammar on the pages, and for sentences that nobody follows to their end. Arguments:
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

const wanted = process.argv.slice(2).map((file) => resolve(file))
const pages = wanted.length > 0 ? wanted : files.filter(isPage).map((file) => join(ROOT, file))
const linter = await proseLinter(namesInSources())
let count = 0
for (const file of pages) {
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
