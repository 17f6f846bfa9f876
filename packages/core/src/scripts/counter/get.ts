import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { anyNumber } from '../../redis/shapes.js'

export const getCounterScript = defineScript('counter/get', anyNumber)

export interface GetCounterCommand {
  readonly lockName: string
  readonly key: string
  readonly operationsKey: string
}

/** 0 when there is none. */
export function getCounter(runner: ScriptRunner, command: GetCounterCommand): Promise<number> {
  const { lockName, key, operationsKey } = command
  const keys = [key, operationsKey]
  return runner.run({ script: getCounterScript, keys, args: [], parse: Number, lockName })
}
