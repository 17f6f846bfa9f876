import { noteKey } from '../../keys.js'
import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { numberFrom } from '../../redis/shapes.js'
import { wantedNote } from '../lock/note.js'
import { parseRenamed, type RenameReply, type Renaming } from '../lock/rename.js'
import { callUpArguments, type FairLine } from './line.js'

export const renameScript = defineScript('fair-lock/rename', numberFrom(0, 2))

export interface FairRenameCommand extends Renaming {
  readonly line: FairLine
}

export function rename(
  runner: ScriptRunner,
  { line, to, from, passedTo }: FairRenameCommand,
): Promise<RenameReply> {
  const { owner, note } = to
  const keys = note ? [...line.keys, noteKey(line.keys[0] ?? '')] : line.keys
  const args = [
    owner,
    note ? wantedNote(note) : '',
    line.patience,
    ...callUpArguments(runner, line),
    `${from.length}`,
    ...from,
    ...passedTo,
  ]
  return runner.run({ script: renameScript, keys, args, parse: parseRenamed, lockName: line.lockName })
}
