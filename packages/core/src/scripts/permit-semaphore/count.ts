import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { numbers } from '../../redis/shapes.js'
import type { PermitCommand } from './keys.js'

export const countPermitsScript = defineScript('permit-semaphore/count', numbers(2))

export interface PermitCounts {
  readonly free: number
  readonly held: number
}

export function countPermits(
  runner: ScriptRunner,
  command: Omit<PermitCommand, 'stamp'>,
): Promise<PermitCounts> {
  const { lockName, key, timeoutsKey, channel } = command
  const keys = [key, timeoutsKey]
  return runner.run({
    script: countPermitsScript,
    keys,
    args: [channel, runner.announcementOn(channel)],
    parse,
    lockName,
  })
}

function parse(reply: unknown): PermitCounts {
  const [free = 0, held = 0] = (reply as unknown[]).map(Number)
  return { free, held }
}
