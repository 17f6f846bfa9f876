import { grantQueueKey, probeKey } from '../keys.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { either, facts, numberFrom, yesOrNo } from '../redis/shapes.js'

/** The hold count that replies have for a string of another library (`holder.part.lua`). No lock of ours has it. */
const OF_A_STRING = -1

export function isForeignCount(holds: unknown): boolean {
  return Number(holds) === OF_A_STRING
}

export interface NamedKey {
  readonly lockName: string
  readonly key: string
}

/** The contents of the key with the name of a lock. */
export type ForeignLook =
  /** The string of another library. `value`: its first 200 bytes; `ttlMs`: -1 without a time to live. */
  | { readonly kind: 'string'; readonly ttlMs: number; readonly value: string }
  /** Nothing, or a lock of ours. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'another-type' }

export const lookScript = defineScript('foreign-lock/look', either(numberFrom(0, 1), facts(2)))

export function look(runner: ScriptRunner, { lockName, key }: NamedKey): Promise<ForeignLook> {
  return runner.run({ script: lookScript, keys: [key, probeKey(key)], args: [], parse: parseLook, lockName })
}

function parseLook(reply: unknown): ForeignLook {
  if (!Array.isArray(reply)) {
    return { kind: Number(reply) === 1 ? 'another-type' : 'gone' }
  }
  const [ttlMs, value] = reply as unknown[]
  return { kind: 'string', ttlMs: Number(ttlMs), value: String(value) }
}

export const leaveScript = defineScript('foreign-lock/leave', yesOrNo)

/** Takes a waiter out of the queue of a plain lock. */
export function leave(runner: ScriptRunner, { lockName, key }: NamedKey, owner: string): Promise<void> {
  const parse = (): void => undefined
  return runner.run({ script: leaveScript, keys: [grantQueueKey(key)], args: [owner], parse, lockName })
}
