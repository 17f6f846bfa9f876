import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../define-script.js'

export const renameScript = defineScript('lock/rename')

export interface RenameCommand {
  readonly lockName: string
  readonly key: string
  /** To be named as the owner. */
  readonly to: string
  /** Who may be named there still. */
  readonly from: readonly string[]
}

export type RenameReply = { readonly kind: 'renamed' | 'lost' }

export function rename(
  runner: ScriptRunner,
  { lockName, key, to, from }: RenameCommand,
): Promise<RenameReply> {
  return runner.run({ script: renameScript, keys: [key], args: [to, ...from], parse, lockName })
}

function parse(reply: unknown): RenameReply {
  return { kind: Number(reply) === 1 ? 'renamed' : 'lost' }
}
