import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const BUILD = fileURLToPath(new URL('../../core/build/', import.meta.url))
const FILE = 'lua-sources.js'

/** Core's main entry has its scripts in one file, each other entry that sends some in one of its own. */
const modules = []
for (const file of readdirSync(BUILD, { recursive: true }).filter((each) => each.endsWith(FILE))) {
  // One after the other: they share modules, and Jest links those once for each import that is under way.
  modules.push(await import(new URL(file, `file://${BUILD}`).href))
}
const sourcesIn = (module) =>
  Object.entries(module).flatMap(([name, value]) => (name.endsWith('Sources') ? [value] : []))

/** All scripts of Holdfast, by name. @type {Record<string, string>} */
export const SCRIPTS = Object.assign({}, ...modules.flatMap(sourcesIn))

/** By name what EVALSHA knows them by. @type {Record<string, string>} */
export const DIGESTS = Object.fromEntries(
  Object.entries(SCRIPTS).map(([name, text]) => [name, createHash('sha1').update(text).digest('hex')]),
)
