import { lockClientClosed } from '@holdfast/core/siblings'
import type { RedisClient } from './redis-client.js'

/** In the words of ioredis, which callers know. */
export function connectionClosed(cause?: unknown): Error {
  return new Error('Connection is closed.', { cause })
}

/** Ends a connection of the user's as its own library does, and resolves when nothing is open beside it either. */
export async function quit(redis: RedisClient): Promise<unknown> {
  const { quit, close } = redis as Partial<Record<'quit' | 'close', () => Promise<unknown>>>
  const reply = await (quit ?? close)?.call(redis)
  await lockClientClosed(redis)
  return reply
}
