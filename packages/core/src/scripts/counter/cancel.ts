import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { anyNumber } from '../../redis/shapes.js'
import { keysOf, stampOf, type AnnouncedCommand } from './operation.js'

export const cancelScript = defineScript('counter/cancel', anyNumber)

export interface CancelCommand extends AnnouncedCommand {
  /** What goes back for each 1 of the operation's outcome; 0: what it did stays. */
  readonly unit: number
}

/** What went back. */
export function cancel(runner: ScriptRunner, command: CancelCommand): Promise<number> {
  const { lockName, unit, channel } = command
  const args = [...stampOf(command), `${unit}`, channel, runner.announcementOn(channel)]
  return runner.run({ script: cancelScript, keys: keysOf(command), args, parse: Number, lockName })
}
