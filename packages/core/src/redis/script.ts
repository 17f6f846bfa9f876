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

/** Text and hash are created on first use: a process uses few of the scripts it loads. */
class EmbeddedScript implements Script {
  readonly name: keyof typeof luaSources
  readonly inBatches: boolean
  private text: string | null = null
  private hash: string | null = null

  constructor(
    name: keyof typeof luaSources,
    readonly canAnswer: Shape,
  ) {
    this.name = name
    this.inBatches = inBatches.includes(name)
  }

  get lua(): string {
    return (this.text ??= luaSources[this.name])
  }

  get sha1(): string {
    return (this.hash ??= createHash('sha1').update(this.lua).digest('hex'))
  }
}

export function defineScript(name: keyof typeof luaSources, canAnswer: Shape): Script {
  return new EmbeddedScript(name, canAnswer)
}
