import { fairQueueKeys, noteKey, probeKey, tokenKey, waitingWriters } from '../../keys.js'
import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { anyNumber, count, either, isScalar, numberFrom, parts, texts } from '../../redis/shapes.js'
import { noteIn, type HoldNote } from './note.js'

export const explainScript = defineScript(
  'lock/explain',
  either(numberFrom(0, 0), parts(anyNumber, texts, isScalar, count, count)),
)

export interface ExplainCommand {
  readonly lockName: string
  readonly key: string
  /** Nobody says that it is a lock: a hash is one if it looks like one and has a time to live. */
  readonly isAnything: boolean
}

/** All that Redis has about a lock. */
export interface LockFacts {
  /** -1 for a key without a time to live. */
  readonly ttlMs: number
  readonly mode: 'read' | 'write' | undefined
  readonly holds: ReadonlyMap<string, number>
  /** '' when none was ever given. */
  readonly token: string
  /** In the line of a fair lock. */
  readonly inLine: number
  readonly waitingWriters: number
  /** Of the one owner that has a note. */
  readonly notedOwner: string | undefined
  readonly note?: HoldNote | undefined
}

/** Null: nobody has it, or it is no lock. */
export function explain(runner: ScriptRunner, command: ExplainCommand): Promise<LockFacts | null> {
  const { lockName, key, isAnything } = command
  const [queue] = fairQueueKeys(key)
  const keys = [key, noteKey(key), tokenKey(key), queue, waitingWriters(key), probeKey(key)]
  return runner.run({ script: explainScript, keys, args: [isAnything ? '1' : '0'], parse, lockName })
}

type Answer = [unknown, string[], string, unknown, unknown, string | undefined, ...unknown[]]

function parse(reply: unknown): LockFacts | null {
  if (!Array.isArray(reply)) {
    return null
  }
  const [ttlMs, fields, token, inLine, writers, notedOwner, ...note] = reply as Answer
  const values = new Map<string, string>()
  for (let i = 0; i + 1 < fields.length; i += 2) {
    values.set(fields[i] as string, fields[i + 1] as string)
  }
  const mode = values.get('mode') as LockFacts['mode']
  values.delete('mode')
  return {
    ...{ ttlMs: Number(ttlMs), mode, token, inLine: Number(inLine), waitingWriters: Number(writers) },
    holds: new Map([...values].map(([owner, holds]) => [owner, Number(holds)])),
    notedOwner,
    note: noteIn(note),
  }
}
