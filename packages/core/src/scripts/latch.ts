import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { countedOnce } from '../redis/shapes.js'
import { onCounter, wasDone, type AnnouncedArguments } from './counter.js'

export const countDownScript = defineScript('latch/count-down', countedOnce)

export function countDown(runner: ScriptRunner, given: AnnouncedArguments): Promise<void> {
  return runner.run({ script: countDownScript, ...announcing(runner, given), parse: () => undefined })
}

export const deleteLatchScript = defineScript('latch/delete', countedOnce)

/** False: there was none. */
export function deleteLatch(runner: ScriptRunner, given: AnnouncedArguments): Promise<boolean> {
  return runner.run({ script: deleteLatchScript, ...announcing(runner, given), parse: wasDone })
}

function announcing(runner: ScriptRunner, given: AnnouncedArguments): ReturnType<typeof onCounter> {
  const { channel } = given
  return onCounter(given, channel, runner.announcementOn(channel))
}
