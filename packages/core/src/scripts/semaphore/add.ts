import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { countedOnce } from '../../redis/shapes.js'
import { keysOf, stampOf, type AnnouncedCommand } from '../counter/operation.js'

export const addPermitsScript = defineScript('semaphore/add', countedOnce)

export interface AddPermitsCommand extends AnnouncedCommand {
  /** May be negative. */
  readonly permits: number
  /** What is kept of its permits has the same time to live. Else, as Redisson's, it goes. */
  readonly keepsTtl: boolean
}

export function addPermits(runner: ScriptRunner, command: AddPermitsCommand): Promise<void> {
  const { lockName, permits, channel, keepsTtl } = command
  const announcement = [channel, runner.announcementOn(channel)]
  const args = [...stampOf(command), `${permits}`, ...announcement, keepsTtl ? '1' : '0']
  return runner.run({
    script: addPermitsScript,
    keys: keysOf(command),
    args,
    parse: () => undefined,
    lockName,
  })
}
