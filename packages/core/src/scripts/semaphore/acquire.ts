import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../define-script.js'
import { keysOf, stampOf, type CounterCommand } from '../counter/operation.js'

export const acquirePermitsScript = defineScript('semaphore/acquire')

export interface AcquirePermitsCommand extends CounterCommand {
  readonly permits: number
}

/** `over`: the operation was cancelled, or its client has had its answer. */
export interface AcquirePermitsReply {
  readonly kind: 'taken' | 'not-enough' | 'over'
  readonly left: number
}

export function acquirePermits(
  runner: ScriptRunner,
  command: AcquirePermitsCommand,
): Promise<AcquirePermitsReply> {
  const { lockName, permits } = command
  const args = [...stampOf(command), `${permits}`]
  return runner.run({ script: acquirePermitsScript, keys: keysOf(command), args, parse, lockName })
}

function parse(reply: unknown): AcquirePermitsReply {
  const [outcome, left] = (reply as unknown[]).map(Number)
  const kind = outcome === 1 ? 'taken' : outcome === 0 ? 'not-enough' : 'over'
  return { kind, left: left ?? 0 }
}
