import type { Place } from '@holdfast/waiter'
import { newSiblingMutex, type SiblingMutex } from '../context/context.js'
import { QuorumError, type LockTimeoutError } from '../errors.js'
import { isWorthRetrying } from '../redis/until-known.js'
import { releaseSiblingMutex } from '../acquire/reentry.js'
import type { LockServices } from '../locks/services.js'
import type { ReportedWait, WaitFacts } from '../diagnostics/wait-reporter.js'
import type { CompoundCall } from './compound-call.js'
import type { Member, MemberHold } from './member.js'

type Result = MemberHold[] | LockTimeoutError

interface CallerGroup {
  readonly siblingMutex: SiblingMutex
  callers: number
  /** The call whose turn it is. */
  asking: CompoundCall | null
  /**
   * The last failure of a caller without a limit because of silent members, monotonic ms: callers that came before it
   * need not ask again.
   */
  outage: { readonly at: number; readonly error: unknown } | null
}

/** Locks acquired together. */
export interface MembersWanted {
  readonly members: readonly Member[]
  readonly needed: number
}

const linesOf = new WeakMap<LockServices, Map<string, CallerGroup>>()

/**
 * Callers of one client that wait for the same locks try one by one, in order of arrival: of two that try at once,
 * each may get what the other needs and release it, again and again, the more often the longer replies take. A
 * caller that does not wait tries outside the queue; so does one that already holds some of the locks, because the
 * head may be waiting for those.
 *
 * @throws what `ask` throws; the reason of the call's signal; SelfDeadlockError; ClientClosedError
 */
export async function oneByOne(
  call: CompoundCall,
  wanted: MembersWanted,
  ask: () => Promise<Result>,
): Promise<Result> {
  refuseEndlessWait(call, wanted)
  if (call.waitMs === 0 || membersHeld(call, wanted).length > 0) {
    return ask()
  }
  const line = new CallerQueue(call, wanted)
  try {
    // Not at the head: either the wait is over, and one look must find the holder, or there is something to re-enter.
    return (await line.reachHead()) ? await line.askAsHead(ask) : await ask()
  } finally {
    line.leave()
  }
}

/** The members held by contexts around the call. */
export function membersHeld({ origin }: CompoundCall, { members }: MembersWanted): Member[] {
  return members.filter((member) => member.heldFrom(origin) !== undefined)
}

/** A place in the queue of one client's callers for the same locks. Each caller enters and leaves it itself. */
class CallerQueue implements ReportedWait {
  private readonly session: LockServices
  private readonly lines: Map<string, CallerGroup>
  private readonly name: string
  private readonly line: CallerGroup

  constructor(
    private readonly call: CompoundCall,
    private readonly wanted: MembersWanted,
  ) {
    this.session = call.session
    this.lines = linesOf.get(this.session) ?? new Map<string, CallerGroup>()
    linesOf.set(this.session, this.lines)
    this.name = nameOf(wanted)
    this.line = this.lines.get(this.name) ?? {
      siblingMutex: newSiblingMutex(),
      callers: 0,
      asking: null,
      outage: null,
    }
    this.lines.set(this.name, this.line)
    this.line.callers += 1
  }

  /** Resolves when it is the caller's turn; false: it will never be. @throws LockBusyError */
  async reachHead(): Promise<boolean> {
    const { call, session } = this
    this.refuseIfFull()
    const limit = call.leftMs === Infinity ? {} : { timeoutMs: Math.max(1, call.leftMs) }
    const place = session.waiter.enter<true>({
      queue: this.line.siblingMutex.queue,
      // The previous head wakes the next one.
      ticks: false,
      startedAt: call.startedAt,
      ...limit,
      ...(call.signal ? { signal: call.signal } : {}),
      attempt: () => this.tryTurn(),
      undo: () => this.releaseMutex(),
      onParked: (parked: Place<unknown>) => this.parked(parked),
    })
    const stopListening = this.onHeld(() => place.leave())
    try {
      return (await place.outcome).kind === 'done'
    } finally {
      stopListening()
      session.reports.waits.ended(this)
    }
  }

  /** Those in this line wait, and so may the one whose turn it is. */
  private refuseIfFull(): void {
    const { asking, siblingMutex } = this.line
    if (siblingMutex.taken) {
      const line = this.session.waiter.lineAt(siblingMutex.queue)
      const waiting = line.waiting + Number(asking?.hasWaited === true)
      this.call.admit({ waiting, firstStartedAt: asking?.startedAt ?? line.firstStartedAt })
    }
  }

  async askAsHead(ask: () => Promise<Result>): Promise<Result> {
    const { call, line } = this
    line.asking = call
    try {
      return await ask()
    } catch (error) {
      if (call.waitMs === undefined && (isWorthRetrying(error) || error instanceof QuorumError)) {
        line.outage = { at: this.session.runtime.now(), error }
      }
      throw error
    } finally {
      line.asking = null
      this.releaseMutex()
    }
  }

  get lockName(): string {
    return this.call.lockName
  }

  get isUnlimited(): boolean {
    return this.call.limits.isUnlimited
  }

  get startedAt(): number {
    return this.call.startedAt
  }

  explain(): WaitFacts {
    const holders = this.wanted.members.map(({ session, protocol }) => session.reports.holderOf(protocol.key))
    return { holder: holders.find((holder) => holder !== undefined), placeInLine: undefined }
  }

  leave(): void {
    this.line.callers -= 1
    if (this.line.callers === 0) {
      this.lines.delete(this.name)
    }
  }

  private parked(place: Place<unknown>): void {
    this.call.parked()
    this.session.reports.parked(this, {
      get ahead() {
        // The queue, plus the caller whose turn it is.
        return place.ahead + 1
      },
    })
  }

  private tryTurn(): Promise<{ kind: 'refused' } | { kind: 'done'; value: true }> {
    const { call, line } = this
    const { siblingMutex, outage } = line
    if (siblingMutex.taken) {
      return Promise.resolve({ kind: 'refused' })
    }
    // Otherwise each of them, one after the other, would wait in vain for as long as the first.
    if (outage && call.waitMs === undefined && call.startedAt < outage.at) {
      return Promise.reject(outage.error)
    }
    siblingMutex.taken = true
    return Promise.resolve({ kind: 'done', value: true })
  }

  private releaseMutex(): void {
    releaseSiblingMutex(this.session, this.line.siblingMutex)
  }

  /**
   * Calls the callback when the call's context comes to hold some of the locks. Returns a function that removes it.
   */
  private onHeld(callback: () => void): () => void {
    const { call } = this
    const stops = this.wanted.members.map((member) =>
      member.siteFrom(call.origin)?.context.onHeld(member.protocol.scope, callback),
    )
    return () => stops.forEach((stop) => stop?.())
  }
}

/** The waits for single members may be short, so an endless wait for all of them must be detected here. */
function refuseEndlessWait({ waitMs, origin }: CompoundCall, { members, needed }: MembersWanted): void {
  if (waitMs === undefined) {
    const endless = members.flatMap((member) => member.selfDeadlock(origin) ?? [])
    if (endless[0] && members.length - endless.length < needed) {
      throw endless[0]
    }
  }
}

/** The same for every order of the members. */
function nameOf({ members, needed }: MembersWanted): string {
  const names = members.map(({ session, protocol }) => `${session.clientId} ${protocol.kind} ${protocol.key}`)
  return `${needed} of ${names.sort().join(', ')}`
}
