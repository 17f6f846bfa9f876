import type { Script } from './script.js'

/** A script with what it is given. */
export interface ScriptRun {
  readonly script: Pick<Script, 'lua' | 'sha1'>
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** By its digest, or by its text. */
export type RunBy = 'evalsha' | 'eval'

/** Who is told what became of a command. */
export interface Receiver {
  /** Whether the caller still waits; otherwise it need not be sent, and must not be sent again. */
  isWanted(): boolean
  /** In the same turn as the reply, where the client allows that. */
  answered(reply: unknown): void
  failed(error: unknown): void
}

export function tell(receiver: Receiver, answer: Promise<unknown>): void {
  answer.then(
    (reply) => receiver.answered(reply),
    (error: unknown) => receiver.failed(error),
  )
}

export function scriptOf({ script }: ScriptRun, by: RunBy): string {
  return by === 'eval' ? script.lua : script.sha1
}

/** The command in words. */
export function wordsOf(run: ScriptRun, by: RunBy): string[] {
  const { keys, args } = run
  return [by.toUpperCase(), scriptOf(run, by), `${keys.length}`, ...keys, ...args]
}
