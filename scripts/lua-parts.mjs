/**
 * `-- insert NAME` becomes the text of NAME.part.lua: local functions that several scripts share.
 *
 * @param {string} lua
 * @param {(name: string) => string} textOf the text of `<name>.lua`
 */
export const withParts = (lua, textOf) =>
  lua.replaceAll(/^-- insert (\S+)\n/gm, (_, part) => withParts(textOf(`${part}.part`), textOf))
