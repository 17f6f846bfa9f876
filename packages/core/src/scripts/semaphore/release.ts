import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { countedOnce } from '../../redis/shapes.js'
import { keysOf, stampOf, type AnnouncedCommand } from '../counter/operation.js'

export const releasePermitsScript = defineScript('semaphore/release', countedOnce)

export interface ReleasePermitsCommand extends AnnouncedCommand {
  readonly permits: number
  readonly onlyIfExists: boolean
}

/** False: there is no semaphore, and none was made. */
export function releasePermits(runner: ScriptRunner, command: ReleasePermitsCommand): Promise<boolean> {
  const { lockName, permits, onlyIfExists, channel } = command
  const args = [
    ...stampOf(command),
    `${permits}`,
    onlyIfExists ? '1' : '0',
    channel,
    runner.announcementOn(channel),
  ]
  return runner.run({ script: releasePermitsScript, keys: keysOf(command), args, parse, lockName })
}

function parse(reply: unknown): boolean {
  return Number(reply) === 1
}
