import { EventEmitter, setMaxListeners } from 'node:events'
import {
  InvalidArgumentError,
  type LockLostError,
  type RedisUnavailableError,
  type WaitedPermits,
} from './errors.js'
import type { LockHolder } from './lock-holder.js'
import { printable } from './runtime/format-value.js'

/** The events of a client, and what each passes to its listeners. */
export interface LockEvents {
  /** A hold of this client ended without being released. */
  lost: { lockName: string; owner: string; error: LockLostError }
  /** A renewal got no reply. The watchdog retries until the trusted time runs out. */
  'renewal-failed': { lockName: string; owner: string; error: unknown; trustedForMs: number }
  /**
   * Redis has been out of reach for 2.5 s while this client holds locks or permits: there is no connection, or renewals
   * fail. Once per outage. Work may go on for `trustedForMs`; then, unless Redis is back, the first hold is lost.
   */
  unreachable: {
    /** The names of everything held. */
    lockNames: readonly string[]
    /** The shortest that is left, ms; nothing, until Redis has confirmed what is held, behind Sentinel. */
    trustedForMs: number
    error: RedisUnavailableError
  }
  /** A release failed. The lock is free when its lease ends, at the latest. */
  'release-failed': { lockName: string; owner: string; error: RedisUnavailableError }
  /** A fail-over or a restart changed the primary: `doubted` leases are being verified with the new one. */
  'primary-changed': { doubted: number }
  /**
   * The reply to a command is not one its script can give, so whether it ran is unknown. Typically `"QUEUED"`, on a
   * connection that the application has put into a transaction. What a shared connection must not do:
   * docs/clients.md.
   */
  'unexpected-reply': {
    /** Undefined when the command covers many locks. */
    lockName: string | undefined
    /** The script's name. */
    script: string
    /** Shortened. */
    reply: string
    error: RedisUnavailableError
  }
  /**
   * A caller has waited for `waitingThreshold` ms; emitted once per call. `holder` is known after Redis has refused
   * this client once, `placeInLine` where Redis keeps a queue; `aheadHere` callers are ahead of it in the client's
   * local queue.
   */
  waiting: {
    lockName: string
    holder: LockHolder | undefined
    waitedMs: number
    placeInLine: number | undefined
    aheadHere: number
    /** For a semaphore only. */
    permits: WaitedPermits | undefined
  }
}

/** The name of an event, for `on` and `off`. */
export type LockEventName = keyof LockEvents
/** Called at an event, with its details. */
export type LockEventListener<E extends LockEventName> = (event: LockEvents[E]) => void

/** How `@holdfast/core/observe` listens to a reporting client. Not an event: a loss without another listener is warned of. */
export interface EventObserver {
  waitParked(wait: object): void
  waitEnded(wait: object): void
  lost(lockName: string, owner: string, reason: string): void
}

/** Calls the listeners one by one. One that throws affects neither the others nor the lock. */
export class EventHub {
  observer: EventObserver | null = null
  /** The events that have a listener. */
  readonly heard = new Set<LockEventName>()
  private readonly emitter = new EventEmitter()

  on<E extends LockEventName>(event: E, listener: LockEventListener<E>): void {
    this.emitter.on(event, listener)
    this.heard.add(event)
  }

  off<E extends LockEventName>(event: E, listener: LockEventListener<E>): void {
    this.emitter.off(event, listener)
    if (this.emitter.listenerCount(event) === 0) {
      this.heard.delete(event)
    }
  }

  hasListeners(event: LockEventName): boolean {
    return this.heard.has(event)
  }

  emit<E extends LockEventName>(event: E, details: LockEvents[E]): void {
    for (const listener of this.emitter.listeners(event)) {
      try {
        ;(listener as LockEventListener<E>)(details)
      } catch (error) {
        warn(
          'HOLDFAST_LISTENER',
          `A listener of '${event}' threw: ${String(error)}. Catch errors inside the listener.`,
        )
      }
    }
  }

  clear(): void {
    this.emitter.removeAllListeners()
    this.heard.clear()
  }
}

export type WarningCode =
  | 'HOLDFAST_LISTENER'
  | 'HOLDFAST_LOST'
  | 'HOLDFAST_BARE_CALLS'
  | 'HOLDFAST_HOLD_OUTLIVES_CONTEXT'
  | 'HOLDFAST_SHORT_LEASE'
  | 'HOLDFAST_EVICTION'
  | 'HOLDFAST_CONNECTING'
  | 'HOLDFAST_REPLY'
  | 'HOLDFAST_UNREACHABLE'
  | 'HOLDFAST_NO_MESSAGES'
  | 'HOLDFAST_HALF_OPEN'
  | 'HOLDFAST_NO_PERMITS'
  | 'HOLDFAST_ENDLESS_WAIT'
  | 'HOLDFAST_ELECTION'
  | 'HOLDFAST_NO_CHANNELS'
  | 'HOLDFAST_NEAR_TICKS'
  | 'HOLDFAST_REENTRY_NOT_AWAITED'

/**
 * Emits a process warning; `node --trace-warnings` shows where, `process.on('warning')` receives it.
 *
 * @param stacks - lines below the message, which is one line, whatever names and errors contain
 */
export function warn(code: WarningCode, message: string, stacks = ''): void {
  process.emitWarning(printable(message) + stacks, { type: 'HoldfastWarning', code })
}

// Many services put ids into lock names: without a bound, the set of names already warned about would grow for ever.
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

/**
 * A controller to whose signal any number may listen, without Node's warning of a leak.
 * @throws InvalidArgumentError the signal is not of Node
 */
export function controllerOfMany(): AbortController {
  const controller = new AbortController()
  try {
    setMaxListeners(0, controller.signal)
  } catch {
    const rule =
      'that of Node, and this environment, such as jsdom, has replaced it. In a test, begin the file with the comment ' +
      '"@jest-environment node", or with Vitest "@vitest-environment node"'
    throw new InvalidArgumentError('AbortSignal', controller.signal, rule)
  }
  return controller
}
