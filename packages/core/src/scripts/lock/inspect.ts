import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { facts } from '../../redis/shapes.js'

export const inspectScript = defineScript('lock/inspect', facts(1))

export interface InspectCommand {
  readonly lockName: string
  readonly key: string
  readonly timeoutMs?: number
}

/** `ttlMs` is -2 for a lock nobody has and -1 for a key without a time to live. */
export interface LockState {
  readonly ttlMs: number
  readonly holds: ReadonlyMap<string, number>
}

export function inspect(runner: ScriptRunner, command: InspectCommand): Promise<LockState> {
  const { lockName, key, timeoutMs } = command
  return runner.run({ script: inspectScript, keys: [key], args: [], parse, lockName, timeoutMs })
}

function parse(reply: unknown): LockState {
  const [ttlMs, ...pairs] = reply as [unknown, ...string[]]
  const holds = new Map<string, number>()
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    holds.set(pairs[i] as string, Number(pairs[i + 1]))
  }
  return { ttlMs: Number(ttlMs), holds }
}
