import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { countedOnce } from '../redis/shapes.js'
import { keysOf, stampOf, wasDone, type AnnouncedArguments } from './counter.js'

export const countDownScript = defineScript('latch/count-down', countedOnce)

export function countDown(runner: ScriptRunner, given: AnnouncedArguments): Promise<void> {
  const { lockName, channel } = given
  const args = [...stampOf(given), channel, runner.announcementOn(channel)]
  return runner.run({
    script: countDownScript,
    keys: keysOf(given),
    args,
    parse: () => undefined,
    lockName,
  })
}

export const deleteLatchScript = defineScript('latch/delete', countedOnce)

/** False: there was none. */
export function deleteLatch(runner: ScriptRunner, given: AnnouncedArguments): Promise<boolean> {
  const { lockName, channel } = given
  const args = [...stampOf(given), channel, runner.announcementOn(channel)]
  return runner.run({ script: deleteLatchScript, keys: keysOf(given), args, parse: wasDone, lockName })
}
