import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../define-script.js'
import { keysOf, stampOf, type AnnouncedCommand } from '../counter/operation.js'

export const addPermitsScript = defineScript('semaphore/add')

export interface AddPermitsCommand extends AnnouncedCommand {
  /** May be negative. */
  readonly permits: number
}

export function addPermits(runner: ScriptRunner, command: AddPermitsCommand): Promise<void> {
  const { lockName, permits, channel } = command
  const args = [...stampOf(command), `${permits}`, channel, runner.announcementOn(channel)]
  return runner.run({
    script: addPermitsScript,
    keys: keysOf(command),
    args,
    parse: () => undefined,
    lockName,
  })
}
