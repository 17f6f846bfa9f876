import type { Waiter } from '@holdfast/waiter'
import type { GrantReceiver } from './grants.js'
import { LivenessWindows } from './liveness.js'
import type { ScriptRunner } from '../redis/script-runner.js'
import { randomNumber, type Runtime } from '../runtime/runtime.js'
import type { AcquireReply } from '../scripts/acquire-reply.js'
import { acquire, type AcquireArguments } from '../scripts/lock.js'

interface PlainLockQueueParts {
  readonly runner: ScriptRunner
  readonly waiter: Waiter
  readonly runtime: Runtime
  readonly grantReceiver: GrantReceiver
  /** The locks held by this client. */
  readonly held: { isHeld(key: string): boolean }
  /** How long a try keeps its owner alive, ms. */
  readonly aliveForMs: number
}

/** The head of one local queue, as enqueued in Redis. */
interface QueuedHead {
  readonly owner: string
  readonly liveness: LivenessWindows
  /** The nonce of this place in the queue: see `QueuePlace`. */
  readonly nonce: string
}

// Stored as a score, in a range far below liveness windows and times.
const NONCE_BYTES = 5

/**
 * The heads of this client's local queues that are enqueued in Redis for a grant, one per plain lock. Each of their
 * tries renews their liveness. A client that takes no grants has none. See docs/decisions/0030-grants-of-plain-locks.md.
 */
export class PlainLockQueue {
  private readonly byKey = new Map<string, QueuedHead>()

  constructor(private readonly parts: PlainLockQueueParts) {}

  get aliveForMs(): number {
    return this.parts.aliveForMs
  }

  /**
   * Whether the head may be enqueued in Redis. Not before it is subscribed to the lock's channel; and not while this
   * client holds the lock itself, because then the head learns of the release locally. A head already enqueued stays
   * so until it holds the lock or leaves: a plain try would abandon the place, which could be granted the lock when
   * its owner no longer wants it.
   */
  mayEnter(key: string, owner: string): boolean {
    const { waiter, grantReceiver, held } = this.parts
    const mayEnter = waiter.isListening(key) && grantReceiver.isSubscribed && !held.isHeld(key)
    return mayEnter || this.byKey.get(key)?.owner === owner
  }

  /** Whether a head of this client is enqueued. */
  has(key: string): boolean {
    return this.byKey.has(key)
  }

  /** Sends the try of a head, which enqueues it if it is refused. */
  async acquire(given: AcquireArguments, queueKey: string): Promise<AcquireReply> {
    const { runner, runtime, aliveForMs } = this.parts
    const { key, owner } = given
    const wasQueued = this.byKey.get(key)?.owner === owner
    const { liveness, nonce } = this.enter(key, owner)
    const sentAt = runtime.now()
    try {
      const reply = await acquire(runner, given, { queueKey, aliveForMs, nonce })
      if (reply.kind === 'held' && reply.aliveUntil !== undefined) {
        liveness.add({ until: reply.aliveUntil, leftMs: aliveForMs }, sentAt)
      } else {
        this.leave(key, owner)
      }
      return reply
    } catch (error) {
      if (!wasQueued) {
        this.leave(key, owner)
      }
      throw error
    }
  }

  /** Called before the try that enqueues the head: the grant may arrive before the reply. */
  private enter(key: string, owner: string): QueuedHead {
    const { grantReceiver, aliveForMs, runtime } = this.parts
    const here = this.byKey.get(key)
    if (here?.owner === owner) {
      return here
    }
    if (here) {
      grantReceiver.forget(here.owner)
    }
    const nonce = `${Math.max(1, randomNumber(runtime, NONCE_BYTES))}`
    const head = { owner, liveness: new LivenessWindows(aliveForMs), nonce }
    this.byKey.set(key, head)
    grantReceiver.expect(owner, { queue: key, ...head, onTaken: () => this.leave(key, owner) })
    return head
  }

  /** The owner holds the lock, or has given up. @returns whether another head of this client is enqueued */
  leave(key: string, owner: string): boolean {
    const head = this.byKey.get(key)
    if (head?.owner !== owner) {
      return head !== undefined
    }
    this.byKey.delete(key)
    this.parts.grantReceiver.forget(owner)
    return false
  }
}
