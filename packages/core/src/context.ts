import { localName } from './keys.js'

// Who is asking. JavaScript has no threads: a Context is one logical thread, what runs inside it is one owner.
//
//   run(...) ── Context 1 ── slots: { 'a' → acquisition taken by lock() / acquire() }
//      └─ withLock('b') ── Frame(b) ── withLock('b') ── Frame(b)      re-enters the enclosing frame's acquisition
//      └─ withLock('b') ── Frame(b)                                   a sibling: an acquisition of its own
//      └─ fork(...) ── Context 2, forked from the place in Context 1 that called it

/** Lets one of several siblings at a time re-enter what they all stand in. */
export interface SiblingMutex {
  taken: boolean
  readonly queue: string
}

/** What a call inside a context may re-enter: an acquisition, as a context sees it. */
export interface Reenterable {
  /** The lock that it is of, see `LockProtocol.scope`. */
  readonly scope: string
  readonly owner: string
  /** Every level was given back. */
  readonly isReleased: boolean
  /** Released or lost. */
  readonly isOver: boolean
  /** The turn that siblings take. */
  readonly siblingMutex: SiblingMutex
}

/** The inside of one `withLock` callback. */
export class Frame {
  alive = true
  private siblings: SiblingMutex | null = null

  constructor(
    readonly context: Context,
    private around: Frame | null,
    readonly scope: string,
    readonly acquisition: Reenterable,
  ) {}

  /** The nearest one around it that has not ended: a task that starts the next one from inside would keep them all. */
  get outer(): Frame | null {
    while (this.around?.alive === false) {
      this.around = this.around.outer
    }
    return this.around
  }

  /** The turn that the callers inside it take. */
  get siblingMutex(): SiblingMutex {
    this.siblings ??= newSiblingMutex()
    return this.siblings
  }
}

let queues = 0

/** A line that nobody else stands in, or only those who are told its name. */
export function newQueue(purpose: string): string {
  queues += 1
  return localName(purpose, queues)
}

export function newSiblingMutex(): SiblingMutex {
  return { taken: false, queue: newQueue('turn') }
}

/** One logical thread. */
export class Context {
  private ended = false
  // Made when they are needed: most contexts are those of one withLock and take nothing else.
  private slots: Map<string, Reenterable> | null = null
  private parked: Map<string, Set<() => void>> | null = null
  private attempts: Map<string, Promise<unknown>> | null = null

  constructor(
    readonly id: number,
    private around: CallSite | null,
    /** The context of another client that it stands for in this one, and ends with. */
    readonly leader: Context | null = null,
  ) {}

  /**
   * Where it was forked off, or further out where there is nothing any more that it could wait for in vain: a task that
   * forks the next one would keep them all. Null for one that nothing encloses.
   */
  get forkedFrom(): CallSite | null {
    while (this.around && isOver(this.around)) {
      this.around = this.around.context.forkedFrom
    }
    return this.around
  }

  /** False once the callback that opened it has settled: a task that outlives it acquires nothing in its name. */
  get alive(): boolean {
    return !this.ended && this.leader?.alive !== false
  }

  /** Whether `lock()` or `acquire()` took something in it that is not given back. */
  get keepsAny(): boolean {
    return this.slots !== null && this.slots.size > 0
  }

  end(): void {
    this.ended = true
  }

  /**
   * Tries for one key, one after another: two at once would be refused by each other, and the second would
   * believe that somebody else has the lock.
   */
  inTurn<T>(key: string, attempt: () => Promise<T>): Promise<T> {
    const attempts = (this.attempts ??= new Map<string, Promise<unknown>>())
    const before = attempts.get(key) as Promise<T> | undefined
    const mine = before ? before.then(attempt, attempt) : attempt()
    attempts.set(key, mine)
    const forget = (): void => {
      if (attempts.get(key) === mine) {
        attempts.delete(key)
      }
    }
    mine.then(forget, forget)
    return mine
  }

  /** Calls back when this context comes to hold the key while the caller waits for it; returns the un-listener. */
  onHeld(key: string, listener: () => void): () => void {
    const parked = (this.parked ??= new Map<string, Set<() => void>>())
    const listeners = parked.get(key) ?? new Set()
    parked.set(key, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) {
        parked.delete(key)
      }
    }
  }

  /** What `lock()` or `acquire()` took in this context. */
  heldByHand(scope: string): Reenterable | undefined {
    return this.slots?.get(scope)
  }

  /** The context's own hold of a key, for every sibling to re-enter, those already waiting included. */
  keep(acquisition: Reenterable): void {
    const slots = (this.slots ??= new Map<string, Reenterable>())
    slots.set(acquisition.scope, acquisition)
    const listeners = this.parked?.get(acquisition.scope)
    if (listeners) {
      for (const listener of [...listeners]) {
        listener()
      }
    }
  }

  forget(acquisition: Reenterable): void {
    if (this.slots?.get(acquisition.scope) === acquisition) {
      this.slots.delete(acquisition.scope)
    }
  }
}

/** Where a call stands: in which context, and inside which `withLock` of it. */
export interface CallSite {
  readonly context: Context
  readonly frame: Frame | null
}

/** Nothing is held there, and nothing will be. */
export function isOver({ context, frame }: CallSite): boolean {
  return !context.alive && !context.keepsAny && frame?.alive !== true && !frame?.outer
}

/** Further and further out. */
export function* placesAround(context: Context): Iterable<CallSite> {
  for (let place = context.forkedFrom; place; place = place.context.forkedFrom) {
    yield place
  }
}

/** What a caller at this place may re-enter, and the turn its siblings take there. */
export interface Enclosing {
  readonly acquisition: Reenterable
  readonly within: { readonly siblingMutex: SiblingMutex }
}

/** The nearest hold of a key around a place: of an enclosing `withLock`, or of the context itself. */
export function enclosing(place: CallSite, scope: string): Enclosing | undefined {
  for (let frame = place.frame; frame && frame.context === place.context; frame = frame.outer) {
    if (frame.scope === scope && frame.alive && !frame.acquisition.isReleased) {
      return { acquisition: frame.acquisition, within: frame }
    }
  }
  const acquisition = place.context.heldByHand(scope)
  return acquisition && { acquisition, within: acquisition }
}

/** The hold of a key by a context that this one was forked from, or by one further out. */
export function heldByAncestor(context: Context, scope: string): Reenterable | undefined {
  for (const place of placesAround(context)) {
    const found = enclosing(place, scope)
    if (found && !found.acquisition.isOver) {
      return found.acquisition
    }
  }
  return undefined
}
