import { InvalidArgumentError } from '../errors.js'
import type { OpenSession } from '../client/open-session.js'
import type { LockClient } from '../lock-client.js'

/** @throws InvalidArgumentError it is no client, or a test double, which has nothing to observe */
export function sessionOf(locks: LockClient): OpenSession {
  const session = (locks as unknown as Partial<Record<'session', OpenSession>> | null | undefined)?.session
  if (session?.runner === undefined) {
    throw new InvalidArgumentError('locks', locks, 'a LockClient, as from LockClient.connect(url)')
  }
  return session
}
