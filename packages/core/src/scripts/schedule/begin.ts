import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { numberFrom, numbers } from '../../redis/shapes.js'
import { TICKS_KEPT, TICKS_TTL_MS, type ScheduleCommand } from './keys.js'

export const beginScript = defineScript('schedule/begin', numbers(1, numberFrom(1, 6)))

export interface BeginCommand extends ScheduleCommand {
  readonly owner: string
  /** undefined: one by the clock of Redis. */
  readonly tick: number | undefined
  readonly atLeastForMs: number
}

export type BeginReply =
  /** `missed`: ticks before it that nobody ran, or finished. */
  | { readonly kind: 'begun'; readonly tick: number; readonly missed: readonly number[] }
  | { readonly kind: 'done' }
  | { readonly kind: 'late' }
  | { readonly kind: 'too-soon'; readonly leftMs: number }
  | { readonly kind: 'lost' }
  /** Further ahead of the clock of Redis than a tick may be. */
  | { readonly kind: 'too-far-ahead'; readonly now: number }

export function begin(runner: ScriptRunner, command: BeginCommand): Promise<BeginReply> {
  const { lockName, key, ticksKey, owner, tick, atLeastForMs } = command
  const args = [owner, `${tick ?? ''}`, `${atLeastForMs}`, TICKS_TTL_MS, TICKS_KEPT]
  return runner.run({ script: beginScript, keys: [key, ticksKey], args, parse, lockName })
}

function parse(reply: unknown): BeginReply {
  const [kind, first, ...others] = (reply as unknown[]).map(Number)
  switch (Number(kind)) {
    case 1:
      return { kind: 'begun', tick: first as number, missed: others.sort((a, b) => a - b) }
    case 2:
      return { kind: 'done' }
    case 3:
      return { kind: 'late' }
    case 4:
      return { kind: 'too-soon', leftMs: first as number }
    case 6:
      return { kind: 'too-far-ahead', now: first as number }
    default:
      return { kind: 'lost' }
  }
}
