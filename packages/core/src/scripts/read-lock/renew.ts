import { readTimeouts } from '../../keys.js'
import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../define-script.js'
import { answersFor, renewed, type RenewReply } from '../lock/renew.js'

export const renewScript = defineScript('read-lock/renew')

export interface ReadRenewCommand {
  /** All in one cluster slot. */
  readonly locks: readonly { readonly key: string; readonly owner: string }[]
  readonly leaseMs: number
  readonly timeoutMs?: number
}

export function renew(runner: ScriptRunner, command: ReadRenewCommand): Promise<RenewReply> {
  const { locks, leaseMs, timeoutMs } = command
  const timeouts = locks.map(({ key, owner }) => readTimeouts(key, owner))
  const keys = [...locks.map((each) => each.key), ...timeouts]
  const args = [`${leaseMs}`, ...locks.map((each) => each.owner)]
  return runner.run({
    script: renewScript,
    keys,
    args,
    parse: answersFor(locks),
    granted: renewed,
    timeoutMs,
  })
}
