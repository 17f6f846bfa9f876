// Writes packages/core/src/scripts/lua-sources.ts from the .lua files beside it, so that neither a bundler
// nor a published package has to find files at run time. `--check` only compares, for CI and a test.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withParts } from './lua-parts.mjs'

const folder = fileURLToPath(new URL('../packages/core/src/scripts/', import.meta.url))
const target = join(folder, 'lua-sources.ts')

const names = readdirSync(folder, { recursive: true })
  .filter((file) => file.endsWith('.lua') && !file.endsWith('.part.lua'))
  .map((file) =>
    relative(folder, join(folder, file))
      .split(sep)
      .join('/')
      .replace(/\.lua$/, ''),
  )
  .sort()

const textOf = (name) => readFileSync(join(folder, `${name}.lua`), 'utf8')

const read = (name) => withParts(textOf(name), textOf)

// `-- include NAME` in a table of transitions becomes the script as a function of its KEYS and ARGV. What is
// included may include in turn; everything reads its own parameters, never those of the script around it.
const INCLUDE = /^( *)-- include (\S+)$/gm

const expanded = (name, around = []) => {
  if (around.includes(name))
    throw new Error(`Lua scripts include each other: ${[...around, name].join(' > ')}`)
  return read(name).replaceAll(INCLUDE, (_, indent, other) => included(indent, other, [...around, name]))
}

const included = (indent, name, around) => {
  const body = expanded(name, around)
    .trimEnd()
    .replaceAll(/^(?=.)/gm, `${indent}  `)
  return [`${indent}['${name}'] = { run = function(KEYS, ARGV)`, body, `${indent}end },`].join('\n')
}

// Comments are for readers of the .lua files; what is embedded travels in every package, and to Redis.
const withoutComments = (lua) =>
  lua.replaceAll(/^ *--.*\n/gm, (line, at) => (at === 0 ? line : '')).replaceAll(/\n{2,}/g, '\n')

const sources = new Map(names.map((name) => [name, withoutComments(expanded(name))]))
const inBatches = [...read('batch').matchAll(INCLUDE)].map(([, , name]) => name)

const literal = (text) =>
  '`' + text.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${') + '`'
const entries = [...sources].map(([name, lua]) => `  '${name}': ${literal(lua)},`)
const text = `// Generated from the .lua files by scripts/embed-lua.mjs. Do not edit.
export const luaSources = {
${entries.join('\n')}
} as const

export const inBatches: readonly string[] = ${JSON.stringify(inBatches).replaceAll('"', "'").replaceAll(',', ', ')}
`

const present = readdirSync(folder).includes('lua-sources.ts') ? readFileSync(target, 'utf8') : ''
if (process.argv.includes('--check')) {
  if (present !== text) {
    console.error('lua-sources.ts is stale: run `npm run build`.')
    process.exit(1)
  }
} else if (present !== text) {
  writeFileSync(target, text)
}
