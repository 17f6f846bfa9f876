import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../define-script.js'

export const renewScript = defineScript('lock/renew')

export interface RenewCommand {
  /** All in one cluster slot. */
  readonly locks: readonly { readonly key: string; readonly owner: string }[]
  readonly leaseMs: number
  readonly timeoutMs?: number
}

export type RenewReply = readonly ('renewed' | 'lost')[]

export function renew(runner: ScriptRunner, command: RenewCommand): Promise<RenewReply> {
  const { locks, leaseMs, timeoutMs } = command
  const keys = locks.map((each) => each.key)
  const args = [`${leaseMs}`, ...locks.map((each) => each.owner)]
  return runner.run({ script: renewScript, keys, args, parse: parseRenewed, granted: renewed, timeoutMs })
}

export function parseRenewed(reply: unknown): RenewReply {
  return (reply as unknown[]).map((each) => (Number(each) === 1 ? 'renewed' : 'lost'))
}

/** See `ScriptCall.granted`. */
export function renewed(answers: RenewReply): RenewReply | undefined {
  return answers.includes('renewed') ? answers : undefined
}
