import type { ScriptRunner } from '../../redis/script-runner.js'
import { LATCH_TTL_MS, type CommandStamp } from '../command-stamp.js'
import { defineScript } from '../define-script.js'

export const acquireScript = defineScript('lock/acquire')

export interface AcquireCommand {
  readonly lockName: string
  readonly key: string
  readonly latchKey: string
  readonly owner: string
  /** The hold count to have afterwards: 1 takes a free lock, more re-enters. */
  readonly holds: number
  readonly leaseMs: number
  readonly stamp: CommandStamp
}

export type AcquireReply =
  | { readonly kind: 'acquired' }
  /** Somebody else has it; `ttlMs` is -1 for a key without a time to live. */
  | { readonly kind: 'held'; readonly ttlMs: number; readonly holder: string; readonly holds: number }
  /** A re-entry found nothing to re-enter. */
  | { readonly kind: 'lost' }
  /** A later command of this acquisition has already ended what this one belongs to. */
  | { readonly kind: 'superseded' }

const ACQUIRED: AcquireReply = { kind: 'acquired' }

export function acquire(runner: ScriptRunner, command: AcquireCommand): Promise<AcquireReply> {
  const { lockName, key, latchKey, owner, holds, leaseMs, stamp } = command
  const args = [owner, `${holds}`, `${leaseMs}`, `${stamp.sequence}`, `${stamp.latchThrough}`, LATCH_TTL_MS]
  return runner.run({ script: acquireScript, keys: [key, latchKey], args, parse, lockName })
}

function parse(reply: unknown): AcquireReply {
  if (Array.isArray(reply)) {
    const [ttlMs, holder, holds] = reply as [unknown, string, unknown]
    return { kind: 'held', ttlMs: Number(ttlMs), holder, holds: Number(holds) }
  }
  switch (Number(reply)) {
    case 1:
      return ACQUIRED
    case 2:
      return { kind: 'lost' }
    default:
      return { kind: 'superseded' }
  }
}
