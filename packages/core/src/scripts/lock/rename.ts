import { noteKey } from '../../keys.js'
import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { numberFrom } from '../../redis/shapes.js'
import { wantedNote, type NoteRequest } from './note.js'

export const renameScript = defineScript('lock/rename', numberFrom(0, 2))

/** Who is to be named as the owner, and the note of the hold. */
export interface Successor {
  readonly owner: string
  readonly note: NoteRequest | undefined
}

/** Of a lock that was passed on. */
export interface Renaming {
  readonly to: Successor
  /** Who may be named there still. */
  readonly from: readonly string[]
  /** Waiters that it was passed on to and that Redis has in line. */
  readonly passedTo: readonly string[]
}

export interface RenameCommand extends Omit<Renaming, 'passedTo'> {
  readonly lockName: string
  readonly key: string
}

/** `found`: it was named so already, and for how long nobody knows. */
export type RenameReply = { readonly kind: 'renamed' | 'found' | 'lost' }

const KINDS = ['lost', 'renamed', 'found'] as const

export function rename(
  runner: ScriptRunner,
  { lockName, key, to, from }: RenameCommand,
): Promise<RenameReply> {
  const { owner, note } = to
  const keys = note ? [key, noteKey(key)] : [key]
  const args = [owner, note ? wantedNote(note) : '', ...from]
  return runner.run({ script: renameScript, keys, args, parse: parseRenamed, lockName })
}

export function parseRenamed(reply: unknown): RenameReply {
  return { kind: KINDS[Number(reply)] ?? 'lost' }
}
