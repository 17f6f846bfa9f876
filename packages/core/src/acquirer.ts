import type { Attempt, WaitOutcome } from '@holdfast/waiter'
import { Acquisition, type LevelRequest } from './acquisition.js'
import { enclosing, heldByAncestor, type Enclosing, type Place, type Turn } from './context.js'
import { LockLostError, LockTimeoutError, SelfDeadlockError } from './errors.js'
import type { Hold } from './hold.js'
import type { LockProtocol } from './locks/lock-protocol.js'
import { isWorthRetrying } from './redis/until-known.js'
import { Refusals } from './refusals.js'
import type { Session } from './session.js'

export interface AcquireRequest extends LevelRequest {
  /** How long to wait, ms; undefined: for ever; 0: one attempt. */
  readonly waitMs: number | undefined
  readonly signal: AbortSignal | undefined
  /** Where the call stands; null outside any context, where every call is an owner of its own. */
  readonly place: Place | null
  /** The caller is about to sleep. */
  readonly onParked?: (() => void) | undefined
}

export type Obtained =
  | { readonly kind: 'held'; readonly hold: Hold; readonly acquisition: Acquisition; readonly turn: Turn | null }
  /** Somebody else has it. */
  | { readonly kind: 'busy'; readonly error: () => LockTimeoutError }

interface Call {
  readonly protocol: LockProtocol
  readonly request: AcquireRequest
  readonly startedAt: number
}

// A lease can be used up before its holder hears of it; this often in a row it is too short for this connection.
const MOST_STILLBORN = 3

/** The one way to a hold, for every kind of lock: re-enter what encloses the call, or contend for it. */
export class Acquirer {
  private readonly refusals: Refusals

  constructor(private readonly session: Session) {
    this.refusals = new Refusals(session.clock)
  }

  /**
   * @throws LockLostError, SelfDeadlockError, RedisUnavailableError, WrongTypeError, ClientClosedError, or the
   *   reason of the signal
   */
  async obtain(protocol: LockProtocol, request: AcquireRequest): Promise<Obtained> {
    this.session.assertOpen(protocol.lockName)
    const call: Call = { protocol, request, startedAt: this.session.clock.now() }
    try {
      for (let stillborn = 0; stillborn < MOST_STILLBORN; ) {
        const outer = request.place ? enclosing(request.place, protocol.key) : undefined
        const obtained = outer ? await this.reenter(call, outer) : await this.contend(call)
        if (obtained === 'stillborn') {
          stillborn += 1
        } else if (obtained !== 'look-again') {
          return obtained
        }
      }
    } finally {
      if (!this.session.waiter.isWaiting(protocol.key)) {
        this.refusals.forget(protocol.key)
      }
    }
    throw new LockLostError({ lockName: protocol.lockName, owner: this.session.clientId, reason: 'expired' })
  }

  private async contend(call: Call): Promise<Obtained | 'look-again' | 'stillborn'> {
    const { protocol, request } = call
    this.refuseSelfDeadlock(call)
    const acquisition = new Acquisition(this.session, protocol, request.place?.context.id ?? null)
    let outcome: WaitOutcome<boolean>
    try {
      outcome = await this.waitInLine(call, acquisition)
    } catch (error) {
      acquisition.giveBack()
      throw error
    }
    if (outcome.kind === 'done' && outcome.value) {
      const hold = acquisition.begin(request)
      if (hold) {
        // What withLock takes belongs to its frame alone: siblings in the same context stay excluded.
        acquisition.keepIn(request.ofCallback ? null : (request.place?.context ?? null))
        return { kind: 'held', hold, acquisition, turn: null }
      }
    }
    acquisition.giveBack()
    switch (outcome.kind) {
      case 'done':
        return outcome.value ? 'stillborn' : 'look-again'
      case 'left':
        return 'look-again'
      default:
        return this.giveUp(call, outcome)
    }
  }

  /** Resolves with whether the acquisition has the lock; `done` with false when its context came to hold it. */
  private async waitInLine(call: Call, acquisition: Acquisition): Promise<WaitOutcome<boolean>> {
    const { protocol, request } = call
    const context = request.place?.context
    let gone = false
    const attempt = async (): Promise<Attempt<boolean>> => {
      if (request.place && enclosing(request.place, protocol.key)) {
        return { kind: 'done', value: false }
      }
      // Its turn came after its caller had left.
      return gone ? { kind: 'refused' } : this.tryFirst(call, acquisition)
    }
    const ticket = this.session.waiter.enter<boolean>({
      queue: protocol.key,
      topic: protocol.channel,
      attempt: context ? () => context.inTurn(protocol.key, attempt) : attempt,
      onParked: () => this.tellWaiting(call),
      ...this.limits(call),
    })
    const stopListening = context?.onHeld(protocol.key, () => ticket.leave())
    try {
      return await ticket.outcome
    } finally {
      gone = true
      stopListening?.()
    }
  }

  private async tryFirst(call: Call, acquisition: Acquisition): Promise<Attempt<boolean>> {
    try {
      const reply = await acquisition.tryFirst(call.request)
      if (reply.kind === 'acquired') {
        return { kind: 'done', value: true, retryAfterMs: call.request.leaseMs ?? acquisition.ttlMs }
      }
      if (reply.kind !== 'held') {
        return { kind: 'refused' }
      }
      this.refusals.note(call.protocol.key, reply)
      return reply.ttlMs >= 0 ? { kind: 'refused', retryAfterMs: reply.ttlMs } : { kind: 'refused' }
    } catch (error) {
      if (isWorthRetrying(error)) {
        return { kind: 'unavailable', error }
      }
      throw error
    }
  }

  private async reenter(call: Call, outer: Enclosing): Promise<Obtained | 'look-again'> {
    const turn = call.request.ofCallback ? outer.turn : null
    const busy = turn ? await this.takeTurn(call, turn) : null
    if (busy) {
      return busy
    }
    const { acquisition } = outer
    let hold: Hold | null = null
    try {
      const outcome = await this.addLevel(call, acquisition)
      if (outcome.kind !== 'done') {
        return this.giveUp(call, outcome)
      }
      hold = outcome.value
      return hold ? { kind: 'held', hold, acquisition, turn } : 'look-again'
    } finally {
      if (!hold) {
        acquisition.giveBack()
        this.endTurn(turn)
      }
    }
  }

  /** In a line of its own: it needs no message to go on, but the same limits, signal and patience as any wait. */
  private addLevel(call: Call, acquisition: Acquisition): Promise<WaitOutcome<Hold | null>> {
    const attempt = async (): Promise<Attempt<Hold | null>> => {
      try {
        return { kind: 'done', value: await acquisition.tryReenter(call.request) }
      } catch (error) {
        if (isWorthRetrying(error)) {
          return { kind: 'unavailable', error }
        }
        throw error
      }
    }
    const giveBack = (hold: Hold | null): void => {
      this.session.inBackground(Promise.resolve(hold?.release()).catch(() => undefined))
    }
    const request = { queue: `reenter:${acquisition.owner}`, attempt, giveBack, ...this.limits(call) }
    return this.session.waiter.enter<Hold | null>(request).outcome
  }

  /** Siblings that re-enter the same hold through `withLock` exclude each other. */
  private async takeTurn(call: Call, turn: Turn): Promise<Obtained | null> {
    const attempt = (): Promise<Attempt<true>> => {
      if (turn.taken) {
        return Promise.resolve({ kind: 'refused' })
      }
      turn.taken = true
      return Promise.resolve({ kind: 'done', value: true })
    }
    const giveBack = (): void => this.endTurn(turn)
    const outcome = await this.session.waiter.enter<true>({ queue: turn.queue, attempt, giveBack, ...this.limits(call) }).outcome
    return outcome.kind === 'done' ? null : this.giveUp(call, outcome)
  }

  endTurn(turn: Turn | null): void {
    if (turn) {
      turn.taken = false
      this.session.waiter.wake(turn.queue)
    }
  }

  /** The wait ended without a yes: somebody else has it, or nobody can tell. */
  private giveUp(call: Call, outcome: WaitOutcome<unknown>): Obtained {
    if (outcome.kind === 'unavailable') {
      throw outcome.error
    }
    const { key, lockName } = call.protocol
    const holder = this.refusals.holderOf(key)
    const waitedMs = this.session.clock.now() - call.startedAt
    return { kind: 'busy', error: () => new LockTimeoutError({ lockName, waitedMs, holder }) }
  }

  private limits(call: Call): { timeoutMs?: number; signal?: AbortSignal } {
    const { waitMs, signal } = call.request
    const left = waitMs === undefined ? undefined : Math.max(0, waitMs - (this.session.clock.now() - call.startedAt))
    return { ...(left === undefined ? {} : { timeoutMs: left }), ...(signal ? { signal } : {}) }
  }

  private refuseSelfDeadlock({ protocol, request }: Call): void {
    if (request.waitMs === undefined && request.place) {
      const holder = heldByAncestor(request.place.context, protocol.key)
      if (holder) {
        throw new SelfDeadlockError(protocol.lockName, holder.owner)
      }
    }
  }

  private tellWaiting(call: Call): void {
    const { events } = this.session
    if (events.hasListeners('waiting')) {
      const { lockName, key } = call.protocol
      events.emit('waiting', { lockName, holder: this.refusals.holderOf(key) })
    }
    call.request.onParked?.()
  }
}
