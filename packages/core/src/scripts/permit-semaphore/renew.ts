import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { count } from '../../redis/shapes.js'

export const renewPermitScript = defineScript('permit-semaphore/renew', count)

export interface RenewPermitCommand {
  readonly lockName: string
  readonly timeoutsKey: string
  readonly id: string
  /** 0: only asks. */
  readonly leaseMs: number
  readonly timeoutMs: number
}

/** Ms until it ends; 0: it has ended, or was given back. */
export function renewPermit(runner: ScriptRunner, command: RenewPermitCommand): Promise<number> {
  const { lockName, timeoutsKey, id, leaseMs, timeoutMs } = command
  const [keys, args] = [[timeoutsKey], [`${leaseMs}`, id]]
  return runner.run({ script: renewPermitScript, keys, args, parse: Number, granted, lockName, timeoutMs })
}

function granted(leftMs: number): number | undefined {
  return leftMs > 0 ? leftMs : undefined
}
