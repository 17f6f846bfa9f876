import type { Ticket } from '@holdfast/waiter'
import { newSiblingMutex, type SiblingMutex } from '../context.js'
import { QuorumError, type LockTimeoutError } from '../errors.js'
import { isWorthRetrying } from '../redis/until-known.js'
import { releaseSiblingMutex } from '../acquire/reentry.js'
import type { Session } from '../client/session.js'
import type { ReportedWait, WaitFacts } from '../diagnostics/wait-reporter.js'
import type { CompoundCall } from './compound-call.js'
import type { Member, MemberHold } from './member.js'

type Result = MemberHold[] | LockTimeoutError

interface Line {
  readonly siblingMutex: SiblingMutex
  callers: number
  /** Nobody answered a caller that would have waited for ever, monotonic ms: those who came before it need not ask. */
  outage: { readonly at: number; readonly error: unknown } | null
}

/** Locks that are wanted together. */
export interface MembersWanted {
  readonly members: readonly Member[]
  readonly needed: number
}

const linesOf = new WeakMap<Session, Map<string, Line>>()

/**
 * The callers of one client that wait for the same locks ask for them one by one, in the order in which they came: of
 * two that ask at a time each may get what the other needs, and give it back, again and again, the longer an answer
 * takes the more often. Who does not wait asks beside the line; so does who has a part of them already, because whoever
 * is first may wait for that.
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
    // Not its turn: its wait is over, which one look has to say of whom, or there is something to re-enter.
    return (await line.takeTurn()) ? await line.inTurn(ask) : await ask()
  } finally {
    line.leave()
  }
}

/** Those that enclose the call. */
export function membersHeld({ origin }: CompoundCall, { members }: MembersWanted): Member[] {
  return members.filter((member) => member.heldFrom(origin) !== undefined)
}

/** A place in the line of the callers of one client that want the same. Entered and left by each. */
class CallerQueue implements ReportedWait {
  private readonly session: Session
  private readonly lines: Map<string, Line>
  private readonly name: string
  private readonly line: Line

  constructor(
    private readonly call: CompoundCall,
    private readonly wanted: MembersWanted,
  ) {
    this.session = call.session
    this.lines = linesOf.get(this.session) ?? new Map<string, Line>()
    linesOf.set(this.session, this.lines)
    this.name = nameOf(wanted)
    this.line = this.lines.get(this.name) ?? { siblingMutex: newSiblingMutex(), callers: 0, outage: null }
    this.lines.set(this.name, this.line)
    this.line.callers += 1
  }

  /** Resolves when it is the caller's turn; false: it will not be any more. */
  async takeTurn(): Promise<boolean> {
    const { call, session } = this
    const limit = call.leftMs === Infinity ? {} : { timeoutMs: Math.max(1, call.leftMs) }
    const ticket = session.waiter.enter<true>({
      queue: this.line.siblingMutex.queue,
      // Woken by whoever ends its turn.
      ticks: false,
      ...limit,
      ...(call.signal ? { signal: call.signal } : {}),
      attempt: () => this.tryTurn(),
      giveBack: () => this.releaseMutex(),
      onParked: (parked: Ticket<unknown>) => this.parked(parked),
    })
    const stopListening = this.onHeld(() => ticket.leave())
    try {
      return (await ticket.outcome).kind === 'done'
    } finally {
      stopListening()
      session.waitReporter.ended(this)
    }
  }

  async inTurn(ask: () => Promise<Result>): Promise<Result> {
    const { call, line } = this
    try {
      return await ask()
    } catch (error) {
      if (call.waitMs === undefined && (isWorthRetrying(error) || error instanceof QuorumError)) {
        line.outage = { at: this.session.clock.now(), error }
      }
      throw error
    } finally {
      this.releaseMutex()
    }
  }

  get lockName(): string {
    return this.call.lockName
  }

  get startedAt(): number {
    return this.call.startedAt
  }

  explain(): WaitFacts {
    const holders = this.wanted.members.map(({ session, protocol }) =>
      session.lastHolders.holderOf(protocol.key),
    )
    return { holder: holders.find((holder) => holder !== undefined), placeInLine: undefined }
  }

  leave(): void {
    this.line.callers -= 1
    if (this.line.callers === 0) {
      this.lines.delete(this.name)
    }
  }

  private parked(ticket: Ticket<unknown>): void {
    this.call.parked()
    this.session.waitReporter.parked(this, {
      get ahead() {
        // Besides those in line, the one whose turn it is.
        return ticket.ahead + 1
      },
    })
  }

  private tryTurn(): Promise<{ kind: 'refused' } | { kind: 'done'; value: true }> {
    const { call, line } = this
    const { siblingMutex, outage } = line
    if (siblingMutex.taken) {
      return Promise.resolve({ kind: 'refused' })
    }
    // Else each of them would wait in vain for as long as the first, one after the other.
    if (outage && call.waitMs === undefined && call.startedAt < outage.at) {
      return Promise.reject(outage.error)
    }
    siblingMutex.taken = true
    return Promise.resolve({ kind: 'done', value: true })
  }

  private releaseMutex(): void {
    releaseSiblingMutex(this.session, this.line.siblingMutex)
  }

  /** Calls back when the context of the call comes to hold a part of them; returns the un-listener. */
  private onHeld(callback: () => void): () => void {
    const { call } = this
    const stops = this.wanted.members.map((member) =>
      member.placeFrom(call.origin)?.context.onHeld(member.protocol.scope, callback),
    )
    return () => stops.forEach((stop) => stop?.())
  }
}

/** Waits for one member may be short: that all of them together would never end has to be seen before. */
function refuseEndlessWait({ waitMs, origin }: CompoundCall, { members, needed }: MembersWanted): void {
  if (waitMs === undefined) {
    const endless = members.flatMap((member) => member.selfDeadlock(origin) ?? [])
    if (endless[0] && members.length - endless.length < needed) {
      throw endless[0]
    }
  }
}

/** The same in whatever order they are named. */
function nameOf({ members, needed }: MembersWanted): string {
  const names = members.map(({ session, protocol }) => `${session.clientId} ${protocol.kind} ${protocol.key}`)
  return `${needed} of ${names.sort().join(', ')}`
}
