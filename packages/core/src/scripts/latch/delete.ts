import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { countedOnce } from '../../redis/shapes.js'
import { keysOf, stampOf, type AnnouncedCommand } from '../counter/operation.js'

export const deleteLatchScript = defineScript('latch/delete', countedOnce)

/** False: there was none. */
export function deleteLatch(runner: ScriptRunner, command: AnnouncedCommand): Promise<boolean> {
  const { lockName, channel } = command
  const args = [...stampOf(command), channel, runner.announcementOn(channel)]
  return runner.run({ script: deleteLatchScript, keys: keysOf(command), args, parse, lockName })
}

function parse(reply: unknown): boolean {
  return Number(reply) === 1
}
