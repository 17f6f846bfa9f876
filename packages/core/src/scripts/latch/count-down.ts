import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { countedOnce } from '../../redis/shapes.js'
import { keysOf, stampOf, type AnnouncedCommand } from '../counter/operation.js'

export const countDownScript = defineScript('latch/count-down', countedOnce)

export function countDown(runner: ScriptRunner, command: AnnouncedCommand): Promise<void> {
  const { lockName, channel } = command
  const args = [...stampOf(command), channel, runner.announcementOn(channel)]
  return runner.run({
    script: countDownScript,
    keys: keysOf(command),
    args,
    parse: () => undefined,
    lockName,
  })
}
