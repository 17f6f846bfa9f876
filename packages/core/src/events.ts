import { EventEmitter } from 'node:events'
import type { LockLostError, RedisUnavailableError } from './errors.js'
import type { LockHolder } from './lock-holder.js'

/** What a client tells about its locks. */
export interface LockEvents {
  /** A hold of this client is over although nobody released it. */
  lost: { lockName: string; owner: string; error: LockLostError }
  /** A renewal had no answer; it is tried again until the trusted time runs out. */
  'renewal-failed': { lockName: string; owner: string; error: unknown; trustedForMs: number }
  /** Redis did not take a release; the lock becomes free when its lease ends, if not before. */
  'release-failed': { lockName: string; owner: string; error: RedisUnavailableError }
  /** Locks have another primary than before, after a fail-over or a restart: so many leases are verified with it. */
  'primary-changed': { doubted: number }
  /**
   * Redis answered a command with something that its script cannot answer: whether it ran is unknown. Most of all
   * `"QUEUED"`, on a connection that somebody has put into a transaction. What a shared connection must not do: docs/clients.md.
   */
  'unexpected-reply': {
    /** Undefined where the command is about many locks. */
    lockName: string | undefined
    /** Which script, by its name. */
    script: string
    /** In short. */
    reply: string
    error: RedisUnavailableError
  }
  /**
   * A caller has waited for `waitingThreshold` ms; told once per call. `holder` is known once this client was refused,
   * `placeInLine` where Redis keeps a line; `aheadHere` callers of this client stand before it in the client's own line.
   */
  waiting: {
    lockName: string
    holder: LockHolder | undefined
    waitedMs: number
    placeInLine: number | undefined
    aheadHere: number
  }
}

export type LockEventName = keyof LockEvents
export type LockEventListener<E extends LockEventName> = (event: LockEvents[E]) => void

/** Calls listeners one by one: one that throws harms neither the others nor the lock. */
export class EventHub {
  private readonly emitter = new EventEmitter()

  on<E extends LockEventName>(event: E, listener: LockEventListener<E>): void {
    this.emitter.on(event, listener)
  }

  off<E extends LockEventName>(event: E, listener: LockEventListener<E>): void {
    this.emitter.off(event, listener)
  }

  hasListeners(event: LockEventName): boolean {
    return this.emitter.listenerCount(event) > 0
  }

  emit<E extends LockEventName>(event: E, details: LockEvents[E]): void {
    for (const listener of this.emitter.listeners(event)) {
      try {
        ;(listener as LockEventListener<E>)(details)
      } catch (error) {
        warn('HOLDFAST_LISTENER', `A listener of '${event}' threw: ${String(error)}`)
      }
    }
  }

  clear(): void {
    this.emitter.removeAllListeners()
  }
}

export type WarningCode =
  | 'HOLDFAST_LISTENER'
  | 'HOLDFAST_LOST'
  | 'HOLDFAST_BARE_CALLS'
  | 'HOLDFAST_SHORT_LEASE'
  | 'HOLDFAST_EVICTION'
  | 'HOLDFAST_CONNECTING'
  | 'HOLDFAST_REPLY'

/** A process warning; `node --trace-warnings` shows where, `process.on('warning')` catches it. */
export function warn(code: WarningCode, message: string): void {
  process.emitWarning(message, { type: 'HoldfastWarning', code })
}

// Names are made of ids in many services: without a bound the set of those warned about would grow for ever.
const MOST_NAMES = 1_000

/** Lets each name through once. After 1,000 names it lets none through. */
export class OncePerName {
  private readonly seen = new Set<string>()

  has(name: string): boolean {
    return this.seen.has(name) || this.seen.size >= MOST_NAMES
  }

  take(name: string): boolean {
    if (this.has(name)) {
      return false
    }
    this.seen.add(name)
    return true
  }
}
