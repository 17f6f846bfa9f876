import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { countedOnce } from '../redis/shapes.js'
import { announcing, onCounter, wasDone, type AnnouncedArguments } from './counter.js'

export const countDownScript = defineScript('latch/count-down', countedOnce)

export function countDown(runner: ScriptRunner, given: AnnouncedArguments): Promise<void> {
  const call = onCounter(given, ...announcing(runner, given))
  return runner.run({ script: countDownScript, ...call, parse: () => undefined })
}

export const deleteLatchScript = defineScript('latch/delete', countedOnce)

/** False: there was none. */
export function deleteLatch(runner: ScriptRunner, given: AnnouncedArguments): Promise<boolean> {
  const call = onCounter(given, ...announcing(runner, given))
  return runner.run({ script: deleteLatchScript, ...call, parse: wasDone })
}
