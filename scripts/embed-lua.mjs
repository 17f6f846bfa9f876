// Writes packages/core/src/redis/lua-sources.ts from the .lua files in packages/core/src/scripts, so that neither a bundler
// nor a published package has to find files at run time. Each text is there once; `compose-lua.ts` puts the scripts
// together. `--check` only compares, for CI and a test.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { embeddable, usedBy } from './lua-parts.mjs'

const folder = fileURLToPath(new URL('../packages/core/src/scripts/', import.meta.url))
const target = fileURLToPath(new URL('../packages/core/src/redis/lua-sources.ts', import.meta.url))

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

const checkUses = (name, around = []) => {
  const path = [...around, name]
  if (!texts.has(name)) throw new Error(`there is no Lua file ${path.join(' > ')}`)
  if (around.includes(name)) throw new Error(`Lua scripts include each other: ${path.join(' > ')}`)
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

const literal = (text) =>
  '`' + text.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${') + '`'
const entries = [...texts].map(([name, lua]) => `  '${name}': ${literal(lua)},`)
const inBatches = usedBy(texts.get('batch')).map((name) => `'${name}'`)
const text = `// Generated from the .lua files by scripts/embed-lua.mjs. Do not edit.
import { composed } from './compose-lua.js'

export const luaSources = composed({
${entries.join('\n')}
})

export const inBatches: readonly string[] = [${inBatches.join(', ')}]
`

const present = existsSync(target) ? readFileSync(target, 'utf8') : ''
if (process.argv.includes('--check')) {
  if (present !== text) {
    console.error('lua-sources.ts is stale: run `npm run build`.')
    process.exit(1)
  }
} else if (present !== text) {
  writeFileSync(target, text)
}
