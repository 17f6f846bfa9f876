// Writes packages/core/src/redis/lua-sources.ts from the .lua files in packages/core/src/scripts, so that neither a bundler
// nor a published package has to find files at run time. Each text is there once; `compose-lua.ts` puts the scripts
// together. What stands beside an entry goes into a file of that entry: who does not use the entry does not load it.
// `--check` only compares, for CI and a test.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { embeddable, entryOf as entryOfFile, inBackticks, luaFiles, usedBy } from './lua-parts.mjs'

const target = (room) =>
  fileURLToPath(new URL(`../packages/core/src/${room}/lua-sources.ts`, import.meta.url))

const files = luaFiles()
const names = [...files.keys()].sort()
const read = (name) => readFileSync(files.get(name), 'utf8')
const texts = new Map(names.map((name) => [name, embeddable(read(name))]))
const entryOf = (name) => entryOfFile(files.get(name))
const entries = [...new Set(names.map(entryOf))].filter((entry) => entry !== undefined).sort()

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
const localsOf = (part) => [...read(part).matchAll(/^local (?:function )?(\w+)/gm)].map(([, local]) => local)
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
for (const entry of entries) {
  generated.set(
    target(`entries/${entry}`),
    `${GENERATED}import { composed, luaTexts } from '../door.js'

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
