import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { countedOnce, numbers } from '../../redis/shapes.js'
import { keysOf, stampOf, type CounterCommand } from '../counter/operation.js'

export const acquirePermitsScript = defineScript('semaphore/acquire', numbers(2, countedOnce))

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
  const keys = keysOf(command)
  return runner.run({ script: acquirePermitsScript, keys, args, parse, granted: taken, lockName })
}

/** See `ScriptCall.granted`; of both kinds of semaphore. */
export function taken<R extends AcquirePermitsReply>(reply: R): R | undefined {
  return reply.kind === 'taken' ? reply : undefined
}

function parse(reply: unknown): AcquirePermitsReply {
  const [outcome, left] = (reply as unknown[]).map(Number)
  const kind = outcome === 1 ? 'taken' : outcome === 0 ? 'not-enough' : 'over'
  return { kind, left: left ?? 0 }
}
