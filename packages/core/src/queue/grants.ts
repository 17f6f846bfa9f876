import { createHash } from 'node:crypto'
import type { Waiter } from '@holdfast/waiter'
import type { LivenessWindows } from './liveness.js'
import type { HandedOverHold } from '../entry/handover.js'
import type { Clock } from '../runtime/time.js'

/** A waiter of this client that Redis may give a lock. */
export interface GrantWaiter {
  /** The local line that it is the first in. */
  readonly queue: string
  /** What Redis said of its life, or of that of its client. */
  readonly liveness: LivenessWindows
  /** What Redis has with its place in line: whoever tells of a grant proves by it that it has read that. */
  readonly nonce: string
  /** It has the lock. */
  readonly onTaken: () => void
}

/** A message that a lock was given to a waiter. */
export interface GrantMessage {
  readonly owner: string
  /** Ms of Redis. */
  readonly until: number
  /** Who stands behind it, as in `PushedGrant`. */
  readonly behind: string[]
  /** What it says, and the proof that whoever says it can read the line; '' where it has none. */
  readonly text: string
  readonly proof: string
}

/** A lock that Redis gave to a waiter, for a life that a request sent at `sentAt` began. */
export interface PushedGrant {
  readonly kind: 'granted'
  readonly owner: string
  /** Monotonic ms. */
  readonly sentAt: number
  readonly ttlMs: number
  /** Those of this client that stand directly behind it in Redis's line, in that order. */
  readonly behind: string[]
}

export interface GrantReceiverParts {
  readonly waiter: Waiter
  readonly clock: Clock
  /** Called before a caller is resumed. */
  readonly beforeResume: () => void
}

/** What Redis gives to waiters of this client, of whatever kind of lock. */
export class GrantReceiver {
  /** Whether this client hears of it. */
  isSubscribed = false
  private readonly candidates = new Map<string, GrantWaiter>()

  constructor(private readonly parts: GrantReceiverParts) {}

  /** Before the try that makes it one: it may be given the lock before the answer arrives. */
  expect(owner: string, candidate: GrantWaiter): void {
    this.candidates.set(owner, candidate)
  }

  forget(owner: string): void {
    this.candidates.delete(owner)
  }

  /**
   * A message says that it has the lock, until then. It uses it if whoever says so has read its nonce in Redis, and this
   * client knows by its own clock that this is still so; else it tries, and finds itself the owner, or not: anybody may
   * ring, and nobody gets in by that. For one that has left, the release that takes it out of the line gives the lock back.
   */
  onGrant(told: GrantMessage): void {
    const { owner, until, behind } = told
    const { waiter, beforeResume, clock } = this.parts
    // I3: its caller is resumed before any timer is, after whatever pause of the process.
    beforeResume()
    const candidate = this.candidates.get(owner)
    if (!candidate) {
      return
    }
    const life = isProven(told, candidate) ? candidate.liveness.windowUntil(until, clock.now()) : undefined
    if (!life || !this.offer(owner, grantOf(owner, life, behind))) {
      waiter.wake(candidate.queue)
    }
  }

  /** Hands it what it waits for. @returns whether it takes it, undefined: it waits no more */
  offer(owner: string, offer: PushedGrant | HandedOverHold): boolean | undefined {
    const candidate = this.candidates.get(owner)
    if (!candidate) {
      return undefined
    }
    const isTaken = this.parts.waiter.offer(candidate.queue, offer)
    if (isTaken) {
      candidate.onTaken()
    }
    return isTaken
  }
}

/** As `give.part.lua` makes it; the nonce at both ends, so that nobody can go on with what somebody else has begun. */
function isProven({ text, proof }: GrantMessage, { nonce }: GrantWaiter): boolean {
  return proof === createHash('sha1').update(`${nonce}${text}${nonce}`).digest('hex')
}

function grantOf(
  owner: string,
  { sentAt, ttlMs }: { sentAt: number; ttlMs: number },
  behind: string[],
): PushedGrant {
  return { kind: 'granted', owner, sentAt, ttlMs, behind }
}
