import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { yesOrNo } from '../../redis/shapes.js'
import { TICKS_KEPT, TICKS_TTL_MS, type ScheduleCommand } from './keys.js'

export const finishScript = defineScript('schedule/finish', yesOrNo)

export interface FinishCommand extends ScheduleCommand {
  readonly owner: string
  /** `done` is noted as `lost` where the owner has no lock any more. */
  readonly state: 'done' | 'failed' | 'lost'
  /** '' for none. */
  readonly error: string
}

/** False: this owner runs none. */
export function finish(runner: ScriptRunner, command: FinishCommand): Promise<boolean> {
  const { lockName, key, ticksKey, owner, state, error } = command
  const args = [owner, state, error, TICKS_TTL_MS, TICKS_KEPT]
  return runner.run({ script: finishScript, keys: [key, ticksKey], args, parse, lockName })
}

function parse(reply: unknown): boolean {
  return Number(reply) === 1
}
