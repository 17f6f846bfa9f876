import { AsyncResource } from 'node:async_hooks'
import type { EventHub } from '../events.js'
import type { LockHolder } from '../lock-holder.js'
import type { CallOrigins } from './call-origins.js'
import { CallPublication, type RequestedHold } from './call-publication.js'
import { callBegun, callEnded, callParked, holdBegun, holdEnded } from './channels.js'
import { HoldPublication } from './hold-publication.js'
import type { HolderInReply, LastSeenHolders } from './last-holders.js'
import type { EndlessWait, SelfWaits } from './self-waits.js'
import type { Position, ReportedWait, WaitReporter } from './wait-reporter.js'

export interface CallReportsParts {
  readonly clientId: string
  readonly events: EventHub
  readonly lastHolders: LastSeenHolders
  readonly waits: WaitReporter
  readonly selfWaits: SelfWaits
  readonly origins: CallOrigins
  /** Whether a warning of this client can say where a call was made. */
  readonly tellsOrigins: boolean
}

/** The part of `AsyncResource` used here: users need not have Node's types. */
interface AsyncContext {
  runInAsyncScope<R>(run: () => R): R
}

/** A call that has subscribers. */
export interface SeenCall {
  /** The caller's own async context, for subscribers: exporters ask for the active span. */
  readonly context: AsyncContext
  /** Null for a part of a call, which is published itself; and where only holds have subscribers. */
  readonly publication: CallPublication | null
}

function isCallSeen(): boolean {
  return callEnded.hasSubscribers || callBegun.hasSubscribers || callParked.hasSubscribers
}

function isHoldSeen(): boolean {
  return holdEnded.hasSubscribers || holdBegun.hasSubscribers
}

/**
 * The seam between calls and whoever watches them: subscribers of the diagnostics channels, listeners of `waiting`,
 * an observer, and warnings. A call reports here that it has begun, was refused, is parked, and has ended. It looks
 * first whether anybody listens: if not, nothing behind the seam runs.
 */
export class CallReports {
  readonly origins: CallOrigins
  /** Also of waits that are none for a lock or permits. */
  readonly waits: WaitReporter

  constructor(private readonly parts: CallReportsParts) {
    this.origins = parts.origins
    this.waits = parts.waits
  }

  /** Where a call is made whose hold may have to be released by hand; null: no warning would say it. */
  origin(method: string): Error | null {
    return this.parts.tellsOrigins ? this.origins.of('call', method) : null
  }

  /** Where a call is made that may wait for what its own client holds by hand; null: it does not. */
  originOfWait(key: string, method: string): Error | null {
    return this.parts.selfWaits.isWanted ? this.parts.selfWaits.originOf(key, method) : null
  }

  /** Publishes that a call for one lock begins, unless it is part of another call. Null without subscribers. */
  seen(of: RequestedHold, startedAt: number, isPart: boolean): SeenCall | null {
    if (!isCallSeen() && !isHoldSeen()) {
      return null
    }
    const context = new AsyncResource('HoldfastCall')
    return { context, publication: isPart ? null : this.begun(of, startedAt) }
  }

  /** Publishes that a call begins. Null without subscribers. */
  begun({ lockName, kind }: RequestedHold, startedAt: number): CallPublication | null {
    if (!isCallSeen()) {
      return null
    }
    const publication = new CallPublication(lockName, kind, this.parts.clientId, startedAt)
    publication.begun()
    return publication
  }

  /** Publishes that a hold begins. Null without subscribers. */
  held(of: RequestedHold, owner: string, startedAt: number): HoldPublication | null {
    return isHoldSeen() ? new HoldPublication(of, owner, this.parts.clientId, startedAt) : null
  }

  /** Whether a refusal should name the holder's note: somebody hears of this call before it has tried again. */
  wantsNote(key: string): boolean {
    return this.parts.lastHolders.byKey.has(key) || isCallSeen() || this.parts.events.heard.has('waiting')
  }

  refused(key: string, reply: HolderInReply): void {
    this.parts.lastHolders.note(key, reply)
  }

  /** The holder seen last, if a caller of this client was refused and waits. */
  holderOf(key: string): LockHolder | undefined {
    return this.parts.lastHolders.byKey.has(key) ? this.parts.lastHolders.holderOf(key) : undefined
  }

  /** The call sleeps, or is queued behind others. @returns whether `ended` has to be told */
  parked(wait: ReportedWait, place: Position): boolean {
    const { observer, heard } = this.parts.events
    const isHeard = observer !== null || wait.isUnlimited || heard.has('waiting')
    if (isHeard) {
      this.waits.parked(wait, place)
    }
    return isHeard
  }

  /** An endless wait outside contexts: it may wait for itself. @returns whether `ended` has to be told */
  mayWaitForItself(wait: EndlessWait): boolean {
    const { selfWaits } = this.parts
    if (selfWaits.isWanted) {
      selfWaits.parked(wait)
    }
    return selfWaits.isWanted
  }

  waitedForAnother(wait: EndlessWait): void {
    this.parts.selfWaits.ended(wait)
  }

  ended(wait: ReportedWait & EndlessWait): void {
    this.waits.ended(wait)
    this.waitedForAnother(wait)
  }
}
