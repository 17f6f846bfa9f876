import { readdirSync } from 'node:fs'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const SRC = fileURLToPath(new URL('../packages/core/src/', import.meta.url))

/**
 * The Lua files of core, absolute, by the names of their scripts and parts: below `scripts`, and beside the entry of core that
 * alone sends them.
 */
export const luaFiles = () =>
  new Map(
    ['scripts', 'entries'].flatMap((room) =>
      readdirSync(SRC + room, { recursive: true })
        .filter((file) => file.endsWith('.lua'))
        .map((file) => [
          file
            .split(sep)
            .join('/')
            .replace(/\.lua$/, ''),
          `${SRC}${room}/${file}`,
        ]),
    ),
  )

/** The entry that alone sends a script; undefined: core itself. @param {string} file of the script */
export const entryOf = (file) => /core\/src\/entries\/([\w-]+)\//.exec(file)?.[1]

/** Directives in whose place other texts are put, see `packages/core/src/redis/compose-lua.ts`. */
export const DIRECTIVE = /^ *-- (insert|include|transitions|shared)((?: [\w/-]+)*)\n/gm

/**
 * The texts that a text takes from others: a part of several scripts, or a script as one of several.
 *
 * @param {string} lua
 */
export const usedBy = (lua) =>
  [...lua.matchAll(DIRECTIVE)].flatMap(([, directive, names]) =>
    names
      .split(' ')
      .slice(1)
      .map((name) => (directive === 'insert' ? `${name}.part` : name)),
  )

/**
 * A script with the parts that it inserts, each once: what `compose-lua.ts` makes of it when it is first sent.
 *
 * @param {string} lua
 * @param {(name: string) => string} textOf the text of `<name>.lua`
 */
export const withParts = (lua, textOf, inScope = new Set()) =>
  lua.replaceAll(/^-- insert (\S+)\n/gm, (_, part) => {
    if (inScope.has(part)) return ''
    inScope.add(part)
    return withParts(textOf(`${part}.part`), textOf, inScope)
  })

/**
 * The text of a script or a part as it is embedded. Comments and indentation are for readers of the .lua files; what
 * is embedded travels in every package, and to Redis.
 *
 * @param {string} lua
 */
export const embeddable = (lua) => {
  const string = /\[=*\[|\\\n/.exec(lua)
  if (string) throw new Error(`a string of several lines would lose its indentation: ${string[0]}`)
  const isDirective = new RegExp(DIRECTIVE.source)
  return lua
    .replaceAll(/^ *--.*\n/gm, (comment) => (isDirective.test(comment) ? comment : ''))
    .replaceAll(/^(?: +|\n)/gm, '')
}

/**
 * The text between the backticks of a module.
 *
 * @param {string} lua
 */
export const inBackticks = (lua) =>
  lua.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')
