import { expect } from '@jest/globals'
import type { Redis } from 'ioredis'
import type { Hold, LockClient, LockClientOptions } from '../../../src/index.js'
import {
  acquireScript as acquireFairScript,
  releaseScript as releaseFairScript,
  renameScript as renameFairScript,
} from '../../../src/scripts/fair-lock.js'
import { acquireFencedScript } from '../../../src/scripts/fenced-lock.js'
import { acquireScript, releaseScript, renameScript, renewScript } from '../../../src/scripts/lock.js'
import { scriptsRunBy } from './carrier.js'
import { waitBehind } from './outcomes.js'
import { eventually, type Rig } from './rig.js'
import { SlowClock } from './slow-clock.js'

const NAMES = new Map([
  [acquireScript.sha1, 'acquire'],
  [acquireFencedScript.sha1, 'acquire'],
  [acquireFairScript.sha1, 'acquire'],
  [releaseScript.sha1, 'release'],
  [releaseFairScript.sha1, 'release'],
  [renameScript.sha1, 'rename'],
  [renameFairScript.sha1, 'rename'],
  [renewScript.sha1, 'renew'],
])

/** A client whose bounds of passing are not used up by the test's own round trips. */
export interface Passer {
  readonly locks: LockClient
  readonly clock: SlowClock
  /** The commands since the last look, in this order. */
  readonly sent: () => string[]
}

export async function passer(
  rig: Rig,
  options: LockClientOptions = {},
  connection: Redis = rig.connection(),
): Promise<Passer> {
  // The bound of passing, 5 ms, takes 5 s: no stall of the machine uses it up.
  const clock = new SlowClock(false, 1_000)
  const digests = scriptsRunBy(connection)
  const locks = await rig.client({ runtime: clock, resyncInterval: 60_000, ...options }, connection)
  let seen = 0
  const sent = (): string[] => {
    const fresh = digests().slice(seen)
    seen += fresh.length
    return fresh.map((sha1) => NAMES.get(sha1) ?? sha1)
  }
  return { locks, clock, sent }
}

interface Internals {
  readonly session: { readonly waiter: { isWaiting(queue: string): boolean } }
}

/**
 * Somebody holds the lock, and the first of those who wait sleeps: without a word to Redis, unless it `asks`, because the
 * lock is not passed on to it.
 */
export async function heldAndAwaited(
  rig: Rig,
  client: Passer,
  name: string,
  wait = () => client.locks.getLock(name).acquire(),
  asks = false,
): Promise<{ readonly hold: Hold; readonly waiting: Promise<Hold> }> {
  const { locks, sent } = client
  const hold = await locks.getLock(name).acquire()
  sent()
  const { waiting } = asks ? await waitBehind(rig, name, wait) : { waiting: wait() }
  // A test that fails before it looks closes the client over it.
  waiting.catch(() => undefined)
  await (asks ? hasAsked(client) : sleeps(client, name))
  // Behind the answers to what it has sent.
  await locks.getLock(name).isLocked()
  if (!asks) expect(sent().filter((script) => script === 'acquire')).toEqual([])
  sent()
  return { hold, waiting }
}

/** Somebody of this client waits. */
export async function sleeps({ locks }: Passer, name: string): Promise<void> {
  await eventually(() => (locks as unknown as Internals).session.waiter.isWaiting(name))
}

/** The head tries when it comes, and once more when it hears messages. */
export async function hasAsked({ sent }: Passer): Promise<void> {
  let tries = 0
  await eventually(() => {
    tries += sent().filter((script) => script === 'acquire').length
    return tries >= 2
  })
}
