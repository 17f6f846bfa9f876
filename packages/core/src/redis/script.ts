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
class EmbeddedScript<N extends string> implements Script {
  readonly inBatches: boolean
  private text: string | null = null
  private hash: string | null = null

  constructor(
    private readonly sources: Readonly<Record<N, string>>,
    readonly name: N,
    readonly canAnswer: Shape,
  ) {
    this.inBatches = inBatches.includes(name)
  }

  get lua(): string {
    return (this.text ??= this.sources[this.name])
  }

  get sha1(): string {
    return (this.hash ??= createHash('sha1').update(this.lua).digest('hex'))
  }
}

export function defineScript(name: keyof typeof luaSources, canAnswer: Shape): Script {
  return new EmbeddedScript(luaSources, name, canAnswer)
}

/** A script of an entry beside the main one: its text comes with the entry. */
export function defineEntryScript<N extends string>(
  sources: Readonly<Record<N, string>>,
  name: N,
  canAnswer: Shape,
): Script {
  return new EmbeddedScript(sources, name, canAnswer)
}
