import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { countedOnce } from '../redis/shapes.js'
import { keysOf, stampOf, wasDone, type AnnouncedCommand } from './counter.js'

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

export const deleteLatchScript = defineScript('latch/delete', countedOnce)

/** False: there was none. */
export function deleteLatch(runner: ScriptRunner, command: AnnouncedCommand): Promise<boolean> {
  const { lockName, channel } = command
  const args = [...stampOf(command), channel, runner.announcementOn(channel)]
  return runner.run({ script: deleteLatchScript, keys: keysOf(command), args, parse: wasDone, lockName })
}
