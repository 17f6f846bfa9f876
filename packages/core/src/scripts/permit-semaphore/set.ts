import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { countedOnce } from '../../redis/shapes.js'
import { onPermits, type PermitCommand } from './keys.js'

export const setPermitsScript = defineScript('permit-semaphore/set', countedOnce)

export interface SetPermitsCommand extends PermitCommand {
  readonly permits: number
}

export function setPermits(runner: ScriptRunner, command: SetPermitsCommand): Promise<void> {
  return runner.run({
    script: setPermitsScript,
    ...onPermits(runner, command, [`${command.permits}`]),
    parse: () => undefined,
  })
}
