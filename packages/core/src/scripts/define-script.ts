import { createHash } from 'node:crypto'
import { luaSources } from './lua-sources.js'

/** A script as Redis knows it. */
export interface Script {
  readonly name: string
  readonly lua: string
  readonly sha1: string
}

export function defineScript(name: keyof typeof luaSources): Script {
  const lua = luaSources[name]
  return { name, lua, sha1: createHash('sha1').update(lua).digest('hex') }
}
