// Writes packages/core/src/redis/lua-sources.ts from the .lua files in packages/core/src/scripts, so that neither a bundler
// nor a published package has to find files at run time. Each text is there once; `compose-lua.ts` puts the scripts
// together. Scripts and parts that one entry alone sends are in a file of that entry: who does not use the entry does not
// load them. `--check` only compares, for CI and a test.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ENTRY_OBJECTS, embeddable, inBackticks, usedBy } from './lua-parts.mjs'

const folder = fileURLToPath(new URL('../packages/core/src/scripts/', import.meta.url))
const target = (room) =>
  fileURLToPath(new URL(`../packages/core/src/${room}/lua-sources.ts`, import.meta.url))

const names = readdirSync(folder, { recursive: true })
  .filter((file) => file.endsWith('.lua'))
  .map((file) =>
    file
      .split(sep)
      .join('/')
      .replace(/\.lua$/, ''),
  )
  .sort()

const texts = new Map(
  names.map((name) => [name, embeddable(readFileSync(join(folder, `${name}.lua`), 'utf8'))]),
)

/** The entry that alone sends a text; undefined: core itself. */
const entryOf = (name) => ENTRY_OBJECTS.find((object) => name.startsWith(`${object}/`))

const checkUses = (name, around = []) => {
  const path = [...around, name]
  if (!texts.has(name)) throw new Error(`there is no Lua file ${path.join(' > ')}`)
  if (around.includes(name)) throw new Error(`Lua scripts include each other: ${path.join(' > ')}`)
  const owner = entryOf(name)
  if (owner !== undefined && owner !== entryOf(path[0]))
    throw new Error(`${path[0]} is sent without the entry ${owner}: ${path.join(' > ')}`)
  for (const other of usedBy(texts.get(name))) checkUses(other, path)
}
for (const name of names) checkUses(name)

// In a batch the parts of one object stand in one scope: a name that two of them have would be the wrong one for somebody.
const partsOf = (name) =>
  usedBy(texts.get(name)).flatMap((other) => [...partsOf(other), ...(other.endsWith('.part') ? [other] : [])])
const localsOf = (part) =>
  [...readFileSync(join(folder, `${part}.lua`), 'utf8').matchAll(/^local (?:function )?(\w+)/gm)].map(
    ([, local]) => local,
  )
for (const [line] of texts.get('batch').matchAll(/^-- transitions .*\n/gm)) {
  const locals = [...new Set(usedBy(line).flatMap(partsOf))].flatMap(localsOf)
  const twice = locals.find((local, i) => locals.indexOf(local) < i)
  if (twice) throw new Error(`two parts have a local ${twice}: ${line}`)
}

const literal = (text) => `\`${inBackticks(text)}\``
const GENERATED = '// Generated from the .lua files by scripts/embed-lua.mjs. Do not edit.\n'
const textsOf = (entry) =>
  [...texts]
    .filter(([name]) => entryOf(name) === entry)
    .map(([name, lua]) => `  '${name}': ${literal(lua)},\n`)
    .join('')

const inBatches = usedBy(texts.get('batch')).map((name) => `'${name}'`)
const generated = new Map([
  [
    target('redis'),
    `${GENERATED}import { composed } from './compose-lua.js'

export const luaTexts = {
${textsOf(undefined)}}

export const luaSources = composed(luaTexts)

export const inBatches: readonly string[] = [${inBatches.join(', ')}]
`,
  ],
])
for (const entry of ENTRY_OBJECTS) {
  generated.set(
    target(entry),
    `${GENERATED}import { composed } from '../redis/compose-lua.js'
import { luaTexts } from '../redis/lua-sources.js'

const ${entry}Texts = {
${textsOf(entry)}}

export const ${entry}Sources = composed(${entry}Texts, luaTexts)
`,
  )
}

for (const [file, text] of generated) {
  const present = existsSync(file) ? readFileSync(file, 'utf8') : ''
  if (present === text) continue
  if (process.argv.includes('--check')) {
    console.error(`${file} is stale: run \`npm run build\`.`)
    process.exit(1)
  }
  writeFileSync(file, text)
}
