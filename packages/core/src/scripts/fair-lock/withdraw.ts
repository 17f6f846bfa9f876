import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../define-script.js'
import { callUpArguments, type FairLine } from './line.js'

export const withdrawScript = defineScript('fair-lock/withdraw')

export interface WithdrawCommand {
  readonly line: FairLine
  readonly owner: string
}

export function withdraw(runner: ScriptRunner, { line, owner }: WithdrawCommand): Promise<void> {
  const args = [owner, line.patience, ...callUpArguments(runner, line)]
  const parse = (): void => undefined
  return runner.run({ script: withdrawScript, keys: line.keys, args, parse, lockName: line.lockName })
}
