import type { ScriptCall } from '../../redis/script-call.js'
import { stampOf, type AnnouncedCommand } from '../counter/operation.js'
import type { Script } from '../define-script.js'

/** What every script that changes a permit-expirable semaphore is given. */
export interface PermitCommand extends AnnouncedCommand {
  readonly timeoutsKey: string
}

/** The call of a script: what all of them are given comes first. */
export function callOf<T>(
  script: Script,
  command: PermitCommand,
  args: readonly string[],
  parse: (reply: unknown) => T,
): ScriptCall<T> {
  const { lockName, key, timeoutsKey, stamp, channel, publish } = command
  const keys = [key, timeoutsKey, stamp.key]
  return { script, keys, args: [...stampOf(command), channel, publish, ...args], parse, lockName }
}
