import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { anyNumber } from '../../redis/shapes.js'
import { onPermits, type PermitCommand } from './keys.js'

export const cancelExpirableScript = defineScript('permit-semaphore/cancel', anyNumber)

export interface CancelExpirableCommand extends PermitCommand {
  readonly ids: readonly string[]
}

/** How many permits went back. */
export function cancelExpirable(runner: ScriptRunner, command: CancelExpirableCommand): Promise<number> {
  return runner.run({
    script: cancelExpirableScript,
    ...onPermits(runner, command, command.ids),
    parse: Number,
  })
}
