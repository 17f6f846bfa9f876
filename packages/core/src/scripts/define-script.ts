import { createHash } from 'node:crypto'
import { inBatches, luaSources } from './lua-sources.js'

/** A script as Redis knows it. */
export interface Script {
  readonly name: string
  readonly lua: string
  readonly sha1: string
  /** Whether it is one of the transitions of the batch script. */
  readonly inBatches: boolean
}

export function defineScript(name: keyof typeof luaSources): Script {
  const lua = luaSources[name]
  const sha1 = createHash('sha1').update(lua).digest('hex')
  return { name, lua, sha1, inBatches: inBatches.includes(name) }
}
