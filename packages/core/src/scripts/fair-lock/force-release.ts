import type { ScriptRunner } from '../../redis/script-runner.js'
import { noteKey } from '../../keys.js'
import { defineScript } from '../../redis/script.js'
import { count } from '../../redis/shapes.js'
import { parseForced, type ForceReleaseReply } from '../lock/force-release.js'
import { callUpArguments, type FairLine } from './line.js'

export const forceReleaseScript = defineScript('fair-lock/force-release', count)

export function forceRelease(runner: ScriptRunner, line: FairLine): Promise<ForceReleaseReply> {
  const args = [line.patience, ...callUpArguments(runner, line)]
  const { lockName } = line
  const keys = [...line.keys, noteKey(line.keys[0] ?? '')]
  return runner.run({ script: forceReleaseScript, keys, args, parse: parseForced, lockName })
}
