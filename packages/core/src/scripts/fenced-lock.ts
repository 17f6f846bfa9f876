import { noteKey } from '../keys.js'
import type { ScriptCall } from '../redis/script-call.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { defineScript } from '../redis/script.js'
import { acquiredOrHeld, either, isToken, parts } from '../redis/shapes.js'
import { argvOfTake, type AcquireArguments } from './lock.js'
import { wantedNote } from './note.js'
import { granted, parseAcquire, type AcquireReply } from './acquire-reply.js'

export const acquireFencedScript = defineScript(
  'fenced-lock/acquire',
  either(parts(isToken), acquiredOrHeld(4)),
)

/** A first acquire: `holds` is 1. */
export interface AcquireFencedArguments extends AcquireArguments {
  readonly tokenKey: string
  /** `time`: never below the clock of Redis, in microseconds. */
  readonly tokens: 'counter' | 'time'
  /** Lifetime of the counter from now on; undefined leaves it as it is. */
  readonly tokenTtlMs: number | undefined
}

/** The reply `acquired` has a token. */
export function acquireFencedCall(given: AcquireFencedArguments): ScriptCall<AcquireReply> {
  const { lockName, key, tombstoneKey, tokenKey, tokens, tokenTtlMs = 0, note } = given
  const keys = [key, tombstoneKey, noteKey(key), tokenKey]
  const args = [...argvOfTake(given), note ? wantedNote(note) : '', tokens, `${tokenTtlMs}`]
  return { script: acquireFencedScript, keys, args, parse: parseAcquireFenced, granted, lockName }
}

function parseAcquireFenced(reply: unknown): AcquireReply {
  // A refusal has three elements or more, a grant has one.
  return Array.isArray(reply) && reply.length === 1
    ? { kind: 'acquired', token: String(reply[0]) }
    : parseAcquire(reply)
}

export const getTokenScript = defineScript(
  'fenced-lock/get-token',
  (reply) => reply === null || isToken(reply),
)

export interface GetTokenArguments {
  readonly lockName: string
  readonly key: string
  readonly tokenKey: string
}

/** '0' when no token was given yet. */
export function getToken(runner: ScriptRunner, given: GetTokenArguments): Promise<string> {
  const { lockName, key, tokenKey } = given
  return runner.run({ script: getTokenScript, keys: [key, tokenKey], args: [], parse: parseToken, lockName })
}

function parseToken(reply: unknown): string {
  return (reply as string | null) ?? '0'
}
