import type { ScriptCall } from '../../redis/script-call.js'
import type { ScriptRunner } from '../../redis/script-runner.js'
import { stampOf, type AnnouncedCommand } from '../counter/operation.js'

/** What every script that changes a permit-expirable semaphore is given. */
export interface PermitCommand extends AnnouncedCommand {
  readonly timeoutsKey: string
}

/** KEYS and ARGV of each of them: what all are given comes first. */
export function onPermits(
  runner: ScriptRunner,
  command: PermitCommand,
  args: readonly string[],
): Pick<ScriptCall, 'lockName' | 'keys' | 'args'> {
  const { lockName, key, timeoutsKey, stamp, channel } = command
  const keys = [key, timeoutsKey, stamp.key]
  return { lockName, keys, args: [...stampOf(command), channel, runner.announcementOn(channel), ...args] }
}
