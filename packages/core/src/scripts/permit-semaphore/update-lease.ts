import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { countedOnce } from '../../redis/shapes.js'
import { onPermits, type PermitCommand } from './keys.js'

export const updateLeaseScript = defineScript('permit-semaphore/update-lease', countedOnce)

export interface UpdateLeaseCommand extends PermitCommand {
  readonly id: string
  readonly leaseMs: number
}

/** False: there is no such permit any more. */
export function updateLease(runner: ScriptRunner, command: UpdateLeaseCommand): Promise<boolean> {
  const args = [`${command.leaseMs}`, command.id]
  return runner.run({
    script: updateLeaseScript,
    ...onPermits(runner, command, args),
    parse: (reply) => Number(reply) === 1,
    granted: (isHeld) => isHeld || undefined,
  })
}
