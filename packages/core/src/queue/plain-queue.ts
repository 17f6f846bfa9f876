import { randomInt } from 'node:crypto'
import type { Waiter } from '@holdfast/waiter'
import type { GrantReceiver } from './grants.js'
import { LivenessWindows } from './liveness.js'

export interface PlainLockQueueParts {
  readonly waiter: Waiter
  readonly grantReceiver: GrantReceiver
  /** What this client holds. */
  readonly held: { isHeld(key: string): boolean }
  /** How long a try makes its owner count as alive, ms. */
  readonly aliveForMs: number
  /** Whether a lock that a waiter is given is used before Redis is asked. */
  readonly takesGrants: boolean
}

/** The head of one line, as Redis has it. */
interface QueuedHead {
  readonly owner: string
  readonly liveness: LivenessWindows
  /** Of this place: see `QueuePlace`. */
  readonly nonce: string
}

// Kept as a score, where lives and times are far beyond it.
const NONCES = 2 ** 40

/**
 * The heads of this client's lines of plain locks that stand in Redis to be given the lock, one for each lock. Their
 * tries say that they live. See docs/decisions/0030-grants-of-plain-locks.md.
 */
export class PlainLockQueue {
  private readonly byKey = new Map<string, QueuedHead>()

  constructor(private readonly parts: PlainLockQueueParts) {}

  get aliveForMs(): number {
    return this.parts.aliveForMs
  }

  /**
   * Whether the head shall stand there. Not before it hears of what is announced to everybody; and while this client
   * has the lock itself, its head hears of the release here. Who stands there already stays until it has the lock or
   * leaves: a try beside its place would leave the place behind, to be given the lock when nobody wants it any more.
   */
  mayEnter(key: string, owner: string): boolean {
    const { waiter, grantReceiver, held, takesGrants } = this.parts
    const mayEnter = waiter.isListening(key) && takesGrants && grantReceiver.isSubscribed && !held.isHeld(key)
    return mayEnter || this.ownerAt(key) === owner
  }

  /** Who stands there; undefined: nobody of this client. */
  ownerAt(key: string): string | undefined {
    return this.byKey.get(key)?.owner
  }

  /**
   * How many connections of this client hear of a release of the lock, and stand not in line; undefined while it
   * subscribes or unsubscribes, and nobody knows whether Redis counts it.
   */
  listenersNotInLineAt(key: string, channel: string): number | undefined {
    if (this.byKey.has(key)) {
      return 0
    }
    const isLive = this.parts.waiter.topics.isLive(channel)
    return isLive === undefined ? undefined : Number(isLive)
  }

  /** Before the try that puts it there: it may be given the lock before the answer arrives. */
  enter(key: string, owner: string): QueuedHead {
    const { grantReceiver, aliveForMs } = this.parts
    const here = this.byKey.get(key)
    if (here?.owner === owner) {
      return here
    }
    if (here) {
      grantReceiver.forget(here.owner)
    }
    const head = { owner, liveness: new LivenessWindows(aliveForMs), nonce: `${randomInt(1, NONCES)}` }
    this.byKey.set(key, head)
    grantReceiver.expect(owner, { queue: key, ...head, onTaken: () => this.leave(key, owner) })
    return head
  }

  /** It has the lock, or does not want it any more. */
  leave(key: string, owner: string): void {
    if (this.byKey.get(key)?.owner === owner) {
      this.byKey.delete(key)
      this.parts.grantReceiver.forget(owner)
    }
  }
}
