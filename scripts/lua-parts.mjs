/** What is put in place of such a line: a part of several scripts, or a script as one of several. */
export const DIRECTIVE = /^ *-- (insert|include) (\S+)\n/gm

/**
 * `-- insert NAME` becomes the text of NAME.part.lua: local functions that several scripts share.
 *
 * @param {string} lua
 * @param {(name: string) => string} textOf the text of `<name>.lua`
 */
export const withParts = (lua, textOf) =>
  lua.replaceAll(/^-- insert (\S+)\n/gm, (_, part) => withParts(textOf(`${part}.part`), textOf))

/**
 * The text of a script or a part as it is embedded. Comments and indentation are for readers of the .lua files; what
 * is embedded travels in every package, and to Redis.
 *
 * @param {string} lua
 */
export const embeddable = (lua) => {
  const string = /\[=*\[|\\\n/.exec(lua)
  if (string) throw new Error(`a string of several lines would lose its indentation: ${string[0]}`)
  return lua.replaceAll(/^ *--(?! (?:insert|include) ).*\n/gm, '').replaceAll(/^(?: +|\n)/gm, '')
}
