import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { anyNumber } from '../../redis/shapes.js'
import { callUpArguments, type FairLine } from './line.js'

export const withdrawScript = defineScript('fair-lock/withdraw', anyNumber)

export interface WithdrawCommand {
  readonly line: FairLine
  /** '': none. A free lock goes to the first in line. */
  readonly owner: string
}

/** @returns ms that a waiter has to use a lock that it was given, while others wait; 0 for nothing of that */
export function withdraw(runner: ScriptRunner, { line, owner }: WithdrawCommand): Promise<number> {
  const args = [owner, line.patience, ...callUpArguments(runner, line)]
  return runner.run({ script: withdrawScript, keys: line.keys, args, parse: Number, lockName: line.lockName })
}
