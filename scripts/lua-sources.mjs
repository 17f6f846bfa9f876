// Composes the scripts of core from the .lua files, as the modules that hold them in a package. What two of them share is
// there once, as a constant that both name: nothing is left to compose in a user's process.
import { readFileSync, readdirSync } from 'node:fs'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const SRC = fileURLToPath(new URL('../packages/core/src/', import.meta.url))

/**
 * Tables of the transitions that travel in batches, which `batch.lua` inserts like a part. Each begins with the parts that
 * its transitions use; the parts that several tables use are in `batch/shared`.
 */
const TABLES = {
  'batch/fair-locks': ['fair-lock/acquire', 'fair-lock/release', 'fair-lock/heartbeat', 'fair-lock/rename'],
  'batch/read-write-locks': [
    'read-lock/acquire',
    'read-lock/release',
    'write-lock/acquire',
    'write-lock/release',
  ],
  'batch/plain-locks': ['lock/acquire', 'fenced-lock/acquire', 'lock/release', 'lock/rename'],
}
export const IN_BATCHES = Object.values(TABLES).flat()

/** The Lua files of core, absolute, by the names of their scripts and parts: below `scripts`, or beside the entry that sends them. */
const FILES = new Map(
  ['scripts', 'entries'].flatMap((room) =>
    readdirSync(SRC + room, { recursive: true })
      .filter((file) => file.endsWith('.lua'))
      .sort()
      .map((file) => [
        file
          .split(sep)
          .join('/')
          .replace(/\.lua$/, ''),
        `${SRC}${room}/${file}`,
      ]),
  ),
)

/** The name of the script or the part in a Lua file. @param {string} file */
export const nameOf = (file) => /core\/src\/(?:scripts|entries)\/(.*)\.lua$/.exec(file)?.[1]

/** The entry that alone sends a script; undefined: core itself. @param {string} file of the script */
const entryOf = (file) => /core\/src\/entries\/([\w-]+)\//.exec(file)?.[1]

/** The module below `packages` that a Lua file is embedded in. @param {string} file */
export const moduleWith = (file) => {
  const entry = entryOf(file)
  return `core/src/${entry === undefined ? 'redis' : `entries/${entry}`}/lua-sources.ts`
}

/**
 * The text of a script or a part as it is embedded. Comments and indentation are for readers of the .lua files; what
 * is embedded travels in every package, and to Redis.
 *
 * @param {string} lua
 */
export const embeddable = (lua) => {
  const string = /\[=*\[|\\\n/.exec(lua)
  if (string) throw new Error(`a string of several lines would lose its indentation: ${string[0]}`)
  return lua.replaceAll(/^ *--(?! insert ).*\n/gm, '').replaceAll(/^(?: +|\n)/gm, '')
}

/** @returns {Map<string, string>} by name */
export const embeddedTexts = () =>
  new Map([...FILES].map(([name, file]) => [name, embeddable(readFileSync(file, 'utf8'))]))

const INSERT = /^-- insert (\S+)\n/m

/** The parts that a text inserts, each after those that it inserts itself. */
const partsOf = (texts, text, around = []) =>
  [...text.matchAll(new RegExp(INSERT, 'gm'))].flatMap(([, part]) => {
    const name = `${part}.part`
    if (around.includes(name)) throw new Error(`parts insert each other: ${[...around, name].join(' > ')}`)
    if (!texts.has(name)) throw new Error(`there is no Lua file ${[...around, name].join(' > ')}`)
    return [...partsOf(texts, texts.get(name), [...around, name]), name]
  })

/**
 * A text with its parts, as the pieces that it consists of. A part that is in scope already is not repeated.
 *
 * @param {Map<string, string>} texts @param {string} text
 * @param {Set<string>} inScope the parts above this text; those that it inserts are added
 * @returns {string[]}
 */
export const piecesOf = (texts, text, inScope) => {
  // At odd places the names of what is inserted.
  const pieces = text.split(new RegExp(INSERT, 'gm')).flatMap((piece, i) => {
    if (i % 2 === 0) return piece
    if (piece === 'batch/shared') return sharedParts(texts).flatMap((part) => once(texts, part, inScope))
    return piece in TABLES
      ? tableOf(texts, TABLES[piece], new Set(inScope))
      : once(texts, `${piece}.part`, inScope)
  })
  return pieces.filter((piece) => piece !== '')
}

const once = (texts, part, inScope) => {
  if (inScope.has(part)) return []
  inScope.add(part)
  return piecesOf(texts, texts.get(part), inScope)
}

const tableOf = (texts, scripts, inScope) => {
  const parts = partsOfTable(texts, scripts)
  requireDistinctNames(parts)
  return [
    ...parts.flatMap((part) => once(texts, part, inScope)),
    ...scripts.flatMap((name) => [
      `local function ${functionName(name)}(KEYS, ARGV)\n`,
      ...piecesOf(texts, texts.get(name), new Set(inScope)),
      'end\n',
    ]),
    `return {\n${scripts.map((name) => `['${name}'] = ${functionName(name)},\n`).join('')}}\n`,
  ]
}

/** In a batch the parts of a table are in one scope: a name that two of them have would be the wrong one for one user. */
const requireDistinctNames = (parts) => {
  const locals = parts.flatMap((part) =>
    [...readFileSync(FILES.get(part), 'utf8').matchAll(/^local (?:function )?(\w+)/gm)].map(
      ([, name]) => name,
    ),
  )
  const twice = locals.find((local, i) => locals.indexOf(local) < i)
  if (twice) throw new Error(`two parts of a batch have a local ${twice}`)
}

const partsOfTable = (texts, scripts) => [
  ...new Set(scripts.flatMap((name) => partsOf(texts, texts.get(name)))),
]

const sharedParts = (texts) => {
  const uses = Object.values(TABLES).flatMap((scripts) => partsOfTable(texts, scripts))
  return uses.filter((part, i) => uses.indexOf(part) !== i)
}

/** A shorter text is repeated: its name would be no shorter. */
const SHORTEST_CONSTANT = 40

const inCamelCase = (text) => text.replaceAll(/\W+(.)/g, (_, letter) => letter.toUpperCase())

/** `fair-lock/acquire` is `acquireFairLock`. */
const functionName = (script) => inCamelCase(script.split('/').reverse().join('-'))

/** Every script as it is sent, in pieces, by name. */
const composed = (texts) =>
  new Map(
    [...texts]
      .filter(([name]) => !name.endsWith('.part'))
      .map(([name, text]) => {
        const outside = partsOf(texts, text.replaceAll(/^-- insert batch\/.*\n/gm, '')).find((part) => {
          const owner = entryOf(FILES.get(part))
          return owner !== undefined && owner !== entryOf(FILES.get(name))
        })
        if (outside) throw new Error(`${name} is sent without the entry of ${outside}`)
        return [name, piecesOf(texts, text, new Set())]
      }),
  )

/** The text between the backticks of a module. */
export const inBackticks = (lua) =>
  lua.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')

const literal = (pieces, constants) =>
  `\`${pieces.map((piece) => (constants.has(piece) ? `\${${constants.get(piece)}}` : inBackticks(piece))).join('')}\``

/** Names for the pieces that several scripts have, or one has twice, by the text that each is from. */
const constantsOf = (texts, scripts) => {
  const all = [...scripts.values()].flat()
  const names = new Map()
  for (const [name, text] of texts) {
    for (const [i, piece] of text.split(/^-- insert .*\n/gm).entries()) {
      const isShared = piece.length > SHORTEST_CONSTANT && all.indexOf(piece) < all.lastIndexOf(piece)
      if (isShared) names.set(piece, `${inCamelCase(name.replace('.part', ''))}${i === 0 ? '' : i + 1}`)
    }
  }
  return names
}

/** @returns {(piece: string) => Set<string | undefined>} the entries with scripts that have a piece; undefined: core itself */
const usersIn = (scripts) => {
  const users = new Map()
  for (const [name, pieces] of scripts)
    for (const piece of pieces)
      users.set(piece, (users.get(piece) ?? new Set()).add(entryOf(FILES.get(name))))
  return (piece) => users.get(piece)
}

const GENERATED = '// Generated from the .lua files by scripts/lua-sources.mjs. Do not edit.\n'

/**
 * The modules with the scripts, by their path below `packages`. An entry takes from core what its scripts share with others.
 *
 * @param {Map<string, string>} [texts] by name; others than those of the files, to plant a bug
 * @returns {Map<string, string>}
 */
export const luaModules = (texts = embeddedTexts()) => {
  const scripts = composed(texts)
  const constants = constantsOf(texts, scripts)
  const usersOf = usersIn(scripts)
  const namesOf = (pieces) => pieces.map((piece) => `  ${constants.get(piece)},\n`).join('')
  const homeOf = (piece) => (usersOf(piece).size === 1 ? [...usersOf(piece)][0] : undefined)
  const declared = (entry) =>
    [...constants.keys()]
      .filter((piece) => homeOf(piece) === entry)
      .map((piece) => `const ${constants.get(piece)} = ${literal([piece], new Map())}\n`)
      .join('')
  const sources = (entry) =>
    [...scripts]
      .filter(([name]) => entryOf(FILES.get(name)) === entry)
      .map(([name, pieces]) => `  '${name}': ${literal([`-- Holdfast: ${name}\n`, ...pieces], constants)},\n`)
      .join('')
  const taken = [...constants.keys()].filter(
    (piece) => homeOf(piece) === undefined && [...usersOf(piece)].some(Boolean),
  )
  const core = `${GENERATED}
${declared(undefined)}
/** For the scripts of entries. */
export const luaParts = {
${namesOf(taken)}}

export const luaSources = {
${sources(undefined)}}

export const inBatches = [${IN_BATCHES.map((name) => `'${name}'`).join(', ')}]
`
  const entries = new Set([...scripts.keys()].map((name) => entryOf(FILES.get(name))).filter(Boolean))
  const moduleOf = (entry) => `${GENERATED}import { luaParts } from '../door.js'

const {
${namesOf(taken.filter((piece) => usersOf(piece).has(entry)))}} = luaParts
${declared(entry)}
export const ${entry}Sources = {
${sources(entry)}}
`
  return new Map([
    ['core/src/redis/lua-sources.ts', core],
    ...[...entries].map((entry) => [`core/src/entries/${entry}/lua-sources.ts`, moduleOf(entry)]),
  ])
}
