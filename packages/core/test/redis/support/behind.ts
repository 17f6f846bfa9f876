import type { Redis } from 'ioredis'
import type { Hold, LockClient, LockEvents } from '../../../src/index.js'
import { eventually, soon } from './rig.js'

/** A caller that waits for a lock that is held, once it has subscribed. */
export async function waitBehind<T = Hold>(
  admin: Redis,
  name: string,
  wait: () => Promise<T>,
): Promise<{ readonly waiting: Promise<T> }> {
  const waiting = wait()
  // A test that fails before it looks closes the client over it.
  waiting.catch(() => undefined)
  await subscribed(admin, name)
  return { waiting }
}

async function subscribed(admin: Redis, name: string): Promise<void> {
  const channel = name.includes('{') ? name : `{${name}}`
  await eventually(async () => {
    const [, count] = await admin.pubsub('NUMSUB', `redisson_lock__channel:${channel}`)
    return count === 1
  })
}

/** The next event of a client, or a clear failure. */
export function nextEvent<E extends keyof LockEvents>(locks: LockClient, event: E): Promise<LockEvents[E]> {
  return soon(new Promise<LockEvents[E]>((resolve) => locks.on(event, resolve)))
}

/** When a hold was lost, on the clock of `performance.now()`. */
export function lostAt(hold: Hold): Promise<number> {
  return soon(
    new Promise<number>((resolve) =>
      hold.signal.addEventListener('abort', () => resolve(performance.now()), { once: true }),
    ),
  )
}

/** The end of a call: its result or its error. */
export function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  return soon(call).catch((error: unknown) => error)
}
