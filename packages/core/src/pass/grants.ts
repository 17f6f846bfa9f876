import { createHash } from 'node:crypto'
import type { Waiter } from '@holdfast/waiter'
import type { LivenessWindows } from './liveness.js'
import type { PassedHold } from './local-pass.js'
import type { Clock } from '../runtime/runtime.js'

/** A waiter of this client that Redis may grant a lock to. */
export interface GrantWaiter {
  /** The local queue whose head it is. */
  readonly queue: string
  /** The liveness windows of the waiter or its client, as reported by Redis. */
  readonly liveness: LivenessWindows
  /** Stored in Redis with the waiter's place: a sender that knows it has read the queue. */
  readonly nonce: string
  /** Called when the waiter has received the lock. */
  readonly onTaken: () => void
}

/** A message that a lock was granted to a waiter. */
export interface GrantMessage {
  readonly owner: string
  /** Redis time, ms. */
  readonly until: number
  /** The waiters behind it, as in `PushedGrant`. */
  readonly behind: string[]
  /** The signed text, and the proof that the sender can read the queue; '' without one. */
  readonly text: string
  readonly proof: string
}

/** A lock that Redis granted, with a lease that counts from `sentAt`. */
export interface PushedGrant {
  readonly kind: 'granted'
  readonly owner: string
  /** Monotonic ms. */
  readonly sentAt: number
  readonly ttlMs: number
  /** The waiters of this client directly behind the owner in Redis's queue, in order. */
  readonly behind: string[]
}

interface GrantReceiverParts {
  readonly waiter: Waiter
  readonly clock: Clock
  /** Called before a caller is resumed. */
  readonly beforeResume: () => void
}

/** Receives the grants for waiters of this client, for all kinds of locks. */
export class GrantReceiver {
  /** Whether the client is subscribed to its channel. */
  isSubscribed = false
  private readonly candidates = new Map<string, GrantWaiter>()

  constructor(private readonly parts: GrantReceiverParts) {}

  /** Called before the try that makes the owner a candidate: the grant may arrive before the reply. */
  expect(owner: string, candidate: GrantWaiter): void {
    this.candidates.set(owner, candidate)
  }

  forget(owner: string): void {
    this.candidates.delete(owner)
  }

  /**
   * Handles the message that a waiter holds the lock until a given Redis time. The waiter uses the grant if the
   * sender has proved that it read the waiter's nonce in Redis, and if the grant is still valid by the local clock.
   * Otherwise it tries, and Redis decides: any client can publish a message, and none gets the lock by it. If the
   * waiter has left, the release that withdraws it from the queue frees the lock.
   */
  onGrant(told: GrantMessage): void {
    const { owner, until, behind } = told
    const { waiter, beforeResume, clock } = this.parts
    // I3: after a pause of the process, trust must be checked before the caller resumes, not by a timer after it.
    beforeResume()
    const candidate = this.candidates.get(owner)
    if (!candidate) {
      return
    }
    const life = isProven(told, candidate) ? candidate.liveness.windowUntil(until, clock.now()) : undefined
    if (!life || !this.offer(owner, { kind: 'granted', owner, ...life, behind })) {
      waiter.wake(candidate.queue)
    }
  }

  /** Offers a waiter the lock. @returns whether it accepts; undefined: it no longer waits */
  offer(owner: string, offer: PushedGrant | PassedHold): boolean | undefined {
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

/**
 * The counterpart of `lock/grant.part.lua`. The nonce is hashed at both ends, so that no sender can extend the text of
 * another.
 */
function isProven({ text, proof }: GrantMessage, { nonce }: GrantWaiter): boolean {
  return proof === createHash('sha1').update(`${nonce}${text}${nonce}`).digest('hex')
}
