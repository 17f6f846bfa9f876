import type { ScriptRunner } from '../../redis/script-runner.js'
import { defineScript } from '../../redis/script.js'
import { isToken } from '../../redis/shapes.js'

export const getTokenScript = defineScript(
  'fenced-lock/get-token',
  (reply) => reply === null || isToken(reply),
)

export interface GetTokenCommand {
  readonly lockName: string
  readonly key: string
  readonly tokenKey: string
}

/** '0' when no token was given yet. */
export function getToken(runner: ScriptRunner, command: GetTokenCommand): Promise<string> {
  const { lockName, key, tokenKey } = command
  return runner.run({ script: getTokenScript, keys: [key, tokenKey], args: [], parse, lockName })
}

function parse(reply: unknown): string {
  return (reply as string | null) ?? '0'
}
