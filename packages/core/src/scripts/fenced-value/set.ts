import type { Scripting } from '../../redis/scripting.js'
import { defineScript } from '../define-script.js'

export const setFencedScript = defineScript('fenced-value/set')

export interface SetFencedCommand {
  readonly key: string
  readonly token: string
  readonly value: string
  /** undefined: no end. */
  readonly ttlMs: number | undefined
  /** Who writes, and its how-manieth write this is. */
  readonly writer: string
  readonly sequence: number
}

export interface SetFencedReply {
  readonly accepted: boolean
  readonly highestToken: string
}

/** Rejects with the client's own error. */
export async function setFenced(redis: Scripting, command: SetFencedCommand): Promise<SetFencedReply> {
  const { key, token, value, ttlMs = 0, writer, sequence } = command
  const args = [token, value, `${ttlMs}`, writer, `${sequence}`]
  const { sha1, lua } = setFencedScript
  const reply = await redis.evalsha(sha1, [key], args).catch((error: unknown) => {
    // A flushed script cache or a new primary: nothing ran.
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) {
      return redis.eval(lua, [key], args)
    }
    throw error
  })
  const [accepted, highestToken] = reply as [unknown, unknown]
  return { accepted: Number(accepted) === 1, highestToken: String(highestToken) }
}
