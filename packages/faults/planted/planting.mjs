// Where a planted bug goes: into the source that Jest reads, and into the build that the torture runs on.
import { readFileSync } from 'node:fs'
import { embeddable, entryOf, inBackticks, luaFiles, withParts } from '../../../scripts/lua-parts.mjs'

const PACKAGES = new URL('../../', import.meta.url)

const read = (file) => readFileSync(new URL(file, PACKAGES), 'utf8')
export const isLua = ({ file }) => file.endsWith('.lua')

/** The TypeScript module that a bug changes. Lua reaches a process only as it is embedded in one. */
export const moduleOf = (bug) => {
  if (!isLua(bug)) return bug.file
  const entry = entryOf(bug.file)
  return `core/src/${entry === undefined ? 'redis' : `entries/${entry}`}/lua-sources.ts`
}

/** The compiler's output for that module. The bundles in dist are made of it. */
export const builtModuleOf = (bug) => moduleOf(bug).replace('/src/', '/build/').replace(/\.ts$/, '.js')

/** The compiler indents as it likes and ends statements with a semicolon. */
const patternOf = (find) => {
  const words = find.trim().split(/\s+/)
  return new RegExp(words.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join(';?\\s+'), 'g')
}

const replaceOnce = (what, text, bug) => {
  const pattern = patternOf(bug.find)
  const found = [...text.matchAll(pattern)].length
  if (found !== 1) {
    throw new Error(`${what} has ${found} times, not once, "${bug.find}": mend the planted bug`)
  }
  return text.replace(pattern, () => bug.replace)
}

/** With the parts that a script shares with others. */
const sourceOf = ({ file }) => withParts(read(file), (name) => readFileSync(luaFiles().get(name), 'utf8'))

/**
 * A script is embedded apart from its parts. One with a bug takes them along: the bug may be in one, and is to be in this
 * script alone, and in what includes it.
 */
const replaceEmbedded = (what, text, bug) => {
  const present = inBackticks(embeddable(read(bug.file)))
  if (!text.includes(present)) throw new Error(`${what} has no ${bug.file}: build first`)
  const planted = replaceOnce(bug.file, embeddable(sourceOf(bug)), bug)
  return text.replace(present, () => inBackticks(planted))
}

const replaceIn = (what, text, bug) => (isLua(bug) ? replaceEmbedded : replaceOnce)(what, text, bug)

/** @param {{ file: string, find: string, replace: string }} bug @param {string} text of its module, built or not */
export const plant = (bug, text) => replaceIn(moduleOf(bug), text, bug)

/** The script of a bug in Lua, with its parts and with the bug. */
export const plantedLua = (bug) => replaceOnce(bug.file, sourceOf(bug), bug)

/** @returns {{ file: string, text: string }[]} what a bug changes, with it */
export const plantedModules = (bug) =>
  [moduleOf(bug), builtModuleOf(bug)].map((file) => ({ file, text: replaceIn(file, read(file), bug) }))
