import { unexpected, UnexpectedReply } from '../redis/failures.js'
import { defineScript } from '../redis/script.js'
import type { Scripting } from '../redis/scripting.js'
import { isToken, parts, yesOrNo } from '../redis/shapes.js'

export const setFencedScript = defineScript('fenced-value/set', parts(yesOrNo, isToken))

export interface SetFencedArguments {
  readonly key: string
  readonly token: string
  readonly value: string
  /** undefined: no end. */
  readonly ttlMs: number | undefined
  /** Identifies the writer, and counts its writes. */
  readonly writer: string
  readonly sequence: number
}

export interface SetFencedReply {
  readonly accepted: boolean
  readonly highestToken: string
}

/** Rejects with the client's own error. @throws RedisUnavailableError the answer is none of this script's */
export async function setFenced(redis: Scripting, given: SetFencedArguments): Promise<SetFencedReply> {
  const { key, token, value, ttlMs = 0, writer, sequence } = given
  const args = [token, value, `${ttlMs}`, writer, `${sequence}`]
  const { sha1, lua, canAnswer } = setFencedScript
  const answer = await redis.evalsha(sha1, [key], args).catch((error: unknown) => {
    // A flushed script cache or a new primary: nothing ran.
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) {
      return redis.eval(lua, [key], args)
    }
    throw error
  })
  // node-redis may have been told to give texts as something else.
  const reply = Array.isArray(answer) ? answer.map(String) : String(answer)
  if (!canAnswer(reply)) {
    throw unexpected(new UnexpectedReply(reply), {})
  }
  const [accepted, highestToken] = reply as [string, string]
  return { accepted: accepted === '1', highestToken }
}
