import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const BUILD = fileURLToPath(new URL('../../core/build/', import.meta.url))
const FILE = 'lua-sources.js'

/** Core's main entry has its scripts in one file, each other entry that sends some in one of its own. */
const modules = await Promise.all(
  readdirSync(BUILD, { recursive: true })
    .filter((file) => file.endsWith(FILE))
    .map((file) => import(new URL(file, `file://${BUILD}`).href)),
)
const sourcesIn = (module) =>
  Object.entries(module).flatMap(([name, value]) => (name.endsWith('Sources') ? [value] : []))

/** All scripts of Holdfast, by name. @type {Record<string, string>} */
export const SCRIPTS = Object.assign({}, ...modules.flatMap(sourcesIn))

/** By name what EVALSHA knows them by. @type {Record<string, string>} */
export const DIGESTS = Object.fromEntries(
  Object.entries(SCRIPTS).map(([name, text]) => [name, createHash('sha1').update(text).digest('hex')]),
)
