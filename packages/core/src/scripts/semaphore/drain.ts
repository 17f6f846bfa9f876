import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { numberFrom } from '../../redis/shapes.js'
import { keysOf, stampOf, type CounterCommand } from '../counter/operation.js'

export const drainScript = defineScript('semaphore/drain', numberFrom(-1))

/** How many permits were taken. */
export function drain(runner: ScriptRunner, command: CounterCommand): Promise<number> {
  const { lockName } = command
  return runner.run({ script: drainScript, keys: keysOf(command), args: stampOf(command), parse, lockName })
}

function parse(reply: unknown): number {
  return Math.max(0, Number(reply))
}
