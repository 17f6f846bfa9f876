import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { yesOrNo } from '../../redis/shapes.js'
import { TICKS_KEPT, TICKS_TTL_MS, type ScheduleCommand } from './keys.js'

export const missScript = defineScript('schedule/miss', yesOrNo)

/** False: the tick is known of already. */
export function miss(
  runner: ScriptRunner,
  command: ScheduleCommand & { readonly tick: number },
): Promise<boolean> {
  const { lockName, ticksKey, tick } = command
  const args = [`${tick}`, TICKS_TTL_MS, TICKS_KEPT]
  return runner.run({ script: missScript, keys: [ticksKey], args, parse, lockName })
}

function parse(reply: unknown): boolean {
  return Number(reply) === 1
}
