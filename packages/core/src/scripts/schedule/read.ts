import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { parts, texts } from '../../redis/shapes.js'
import type { ScheduleCommand } from './keys.js'

export const readScript = defineScript('schedule/read', parts(texts, texts))

/** What Redis keeps of a tick; times in ms of its clock. */
export interface KeptTick {
  readonly state: 'running' | 'done' | 'failed' | 'lost' | 'unfinished' | 'missed'
  readonly from: string
  readonly to?: string
  readonly owner?: string
  readonly error?: string
}

export interface ReadReply {
  readonly owners: readonly string[]
  /** The earliest first. */
  readonly ticks: readonly (readonly [tick: number, kept: KeptTick])[]
}

export function read(runner: ScriptRunner, { lockName, key, ticksKey }: ScheduleCommand): Promise<ReadReply> {
  return runner.run({ script: readScript, keys: [key, ticksKey], args: [], parse, lockName })
}

function parse(reply: unknown): ReadReply {
  const [owners, pairs] = reply as [string[], string[]]
  const ticks: [number, KeptTick][] = []
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    ticks.push([Number(pairs[i]), JSON.parse(pairs[i + 1] as string) as KeptTick])
  }
  return { owners, ticks: ticks.sort(([a], [b]) => a - b) }
}
