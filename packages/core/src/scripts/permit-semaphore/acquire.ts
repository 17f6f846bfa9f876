import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { countedOnce, numbers } from '../../redis/shapes.js'
import { taken } from '../semaphore/acquire.js'
import { onPermits, type PermitCommand } from './keys.js'

export const acquireExpirableScript = defineScript('permit-semaphore/acquire', numbers(4, countedOnce))

export interface AcquireExpirableCommand extends PermitCommand {
  /** One for each permit. */
  readonly ids: readonly string[]
  /** undefined: no end. */
  readonly leaseMs: number | undefined
}

export interface AcquireExpirableReply {
  readonly kind: 'taken' | 'not-enough' | 'over'
  readonly left: number
  /** When the first permit ends, ms; -1: none does. */
  readonly endsInMs: number
  /** When the whole semaphore ends, and with it every permit, ms; Infinity: never. */
  readonly semaphoreEndsInMs: number
}

export function acquireExpirable(
  runner: ScriptRunner,
  command: AcquireExpirableCommand,
): Promise<AcquireExpirableReply> {
  const { ids, leaseMs = 0 } = command
  return runner.run({
    script: acquireExpirableScript,
    ...onPermits(runner, command, [`${leaseMs}`, ...ids]),
    parse,
    granted: taken,
  })
}

function parse(reply: unknown): AcquireExpirableReply {
  const [outcome, left = 0, endsInMs = -1, semaphoreTtlMs = -1] = (reply as unknown[]).map(Number)
  const kind = outcome === 1 ? 'taken' : outcome === 0 ? 'not-enough' : 'over'
  return { kind, left, endsInMs, semaphoreEndsInMs: semaphoreTtlMs < 0 ? Infinity : semaphoreTtlMs }
}
