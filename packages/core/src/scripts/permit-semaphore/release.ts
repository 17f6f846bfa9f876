import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { numberFrom } from '../../redis/shapes.js'
import { onPermits, type PermitCommand } from './keys.js'

export const releaseExpirableScript = defineScript('permit-semaphore/release', numberFrom(-1))

export interface ReleaseExpirableCommand extends PermitCommand {
  readonly ids: readonly string[]
}

/** How many were given back: all, or none where one of them has ended or is not known. */
export function releaseExpirable(runner: ScriptRunner, command: ReleaseExpirableCommand): Promise<number> {
  return runner.run({
    script: releaseExpirableScript,
    ...onPermits(runner, command, command.ids),
    parse: (reply) => Math.max(0, Number(reply)),
  })
}
