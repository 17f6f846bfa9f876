// Where a planted bug goes: into the source that Jest reads, and into the build that the torture runs on.
import { readFileSync } from 'node:fs'
import {
  embeddable,
  embeddedTexts,
  inBackticks,
  luaModules,
  moduleWith,
  nameOf,
  piecesOf,
} from '../../../scripts/lua-sources.mjs'

const PACKAGES = new URL('../../', import.meta.url)

const read = (file) => readFileSync(new URL(file, PACKAGES), 'utf8')
export const isLua = ({ file }) => file.endsWith('.lua')

/** The TypeScript module that a bug changes. Lua reaches a process only as it is embedded in one. */
export const moduleOf = (bug) => (isLua(bug) ? moduleWith(bug.file) : bug.file)

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

/** The script of a bug in Lua, with its parts and with the bug: in this script alone, even where it is in a part. */
export const plantedLua = (bug) => {
  const texts = embeddedTexts()
  return replaceOnce(bug.file, piecesOf(texts, texts.get(nameOf(bug.file)), new Set()).join(''), bug)
}

/** The module with a script is made anew: a batch has the script as well. */
const replaceEmbedded = (what, text, bug) => {
  const isBuilt = embeddable(read(bug.file))
    .split(/^-- insert .*\n/gm)
    .every((piece) => text.includes(inBackticks(piece)))
  if (!isBuilt) throw new Error(`${what} has no ${bug.file}: build first`)
  return luaModules(embeddedTexts().set(nameOf(bug.file), plantedLua(bug))).get(moduleOf(bug))
}

const replaceIn = (what, text, bug) => (isLua(bug) ? replaceEmbedded : replaceOnce)(what, text, bug)

/** @param {{ file: string, find: string, replace: string }} bug @param {string} text of its module, built or not */
export const plant = (bug, text) => replaceIn(moduleOf(bug), text, bug)

/** @returns {{ file: string, text: string }[]} what a bug changes, with it */
export const plantedModules = (bug) =>
  [moduleOf(bug), builtModuleOf(bug)].map((file) => ({ file, text: replaceIn(file, read(file), bug) }))
