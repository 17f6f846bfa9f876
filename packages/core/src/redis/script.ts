import { createHash } from 'node:crypto'
import { inBatches, luaSources } from './lua-sources.js'
import type { Shape } from './shapes.js'

/** A script as Redis knows it. */
export interface Script {
  readonly name: string
  readonly lua: string
  readonly sha1: string
  /** Whether the batch script includes it. */
  readonly inBatches: boolean
  /** Whether the script can give this reply. */
  readonly canAnswer: Shape
}

class EmbeddedScript implements Script {
  readonly inBatches: boolean

  constructor(
    readonly name: string,
    readonly lua: string,
    readonly canAnswer: Shape,
  ) {
    this.inBatches = inBatches.includes(name)
  }

  /** Made on first use, and kept: a process uses few of the scripts that it loads. */
  get sha1(): string {
    const value = createHash('sha1').update(this.lua).digest('hex')
    Object.defineProperty(this, 'sha1', { value })
    return value
  }
}

export function defineScript(name: keyof typeof luaSources, canAnswer: Shape): Script {
  return new EmbeddedScript(name, luaSources[name], canAnswer)
}

/** A script of an entry beside the main one: its text comes with the entry. */
export function defineEntryScript<N extends string>(
  sources: Readonly<Record<N, string>>,
  name: N,
  canAnswer: Shape,
): Script {
  return new EmbeddedScript(name, sources[name], canAnswer)
}
