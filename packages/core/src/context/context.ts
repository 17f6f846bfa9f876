import { localName } from '../keys.js'

// Which logical thread a call belongs to. JavaScript has no threads: a Context is one, and what runs in it is one owner.
//
//   run(...) ── Context 1 ── slots: { 'a' → acquisition taken by lock() / acquire() }
//      └─ withLock('b') ── Frame(b) ── withLock('b') ── Frame(b)      re-enters the enclosing frame's acquisition
//      └─ withLock('b') ── Frame(b)                                   a sibling: an acquisition of its own
//      └─ fork(...) ── Context 2, forked from its call site in Context 1

/** Mutual exclusion among siblings that re-enter the same enclosing hold: one of them at a time. */
export interface SiblingMutex {
  taken: boolean
  readonly queue: string
}

/** An entry that a call inside a context may re-enter: an acquisition, as its context sees it. */
export interface Reenterable {
  /** The lock that it is of. */
  readonly protocol: { readonly scope: string }
  readonly owner: string
  /** Every level was released. */
  readonly isReleased: boolean
  /** Released or lost. */
  readonly isOver: boolean
}

/** Where callers re-enter an acquisition, and exclude each other. */
class ReentryPlace {
  protected siblings: SiblingMutex | null = null

  constructor(public acquisition: Reenterable) {}

  /** The mutex of the callers inside. */
  get siblingMutex(): SiblingMutex {
    return (this.siblings ??= newSiblingMutex())
  }
}

/** The inside of one `withLock` callback. Its acquisition is replaced where a node of a RedLock is taken again. */
export class Frame extends ReentryPlace {
  alive = true

  constructor(
    readonly context: Context,
    private around: Frame | null,
    readonly scope: string,
    acquisition: Reenterable,
  ) {
    super(acquisition)
  }

  /**
   * The nearest enclosing frame that is still alive. Ended frames are unlinked: a task that starts the next one from
   * inside would otherwise keep all of them in memory.
   */
  get outer(): Frame | null {
    while (this.around?.alive === false) {
      this.around = this.around.outer
    }
    return this.around
  }

  /** A call of `withLock` that re-entered here is inside. */
  get isReentered(): boolean {
    return this.siblings?.taken === true
  }
}

let queues = 0

/** The name of a local queue of its own, shared only with callers that are given the name. */
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
  // Created on first use: most contexts belong to one withLock and hold nothing else.
  private slots: Map<string, ReentryPlace> | null = null
  private parked: Map<string, Set<() => void>> | null = null
  private attempts: Map<string, Promise<unknown>> | null = null

  constructor(
    readonly id: number,
    private around: CallSite | null,
    /** The context of another client that this one stands for; this one ends with it. */
    readonly leader: Context | null = null,
  ) {}

  /**
   * The call site this context was forked from, or the nearest one further out that can still hold a lock. The others
   * are unlinked: a task that forks the next one would otherwise keep all of them in memory. Null without a parent.
   */
  get forkedFrom(): CallSite | null {
    while (this.around && isOver(this.around)) {
      this.around = this.around.context.forkedFrom
    }
    return this.around
  }

  /**
   * False once the callback that opened it has settled: a task that outlives its context acquires nothing in its
   * name.
   */
  get alive(): boolean {
    return !this.ended && this.leader?.alive !== false
  }

  /** Whether this context still holds a lock from `lock()` or `acquire()`. */
  get keepsAny(): boolean {
    return this.slots !== null && this.slots.size > 0
  }

  /** Levels that it still holds from `lock()` or `acquire()`. */
  get kept(): Reenterable[] {
    return [...(this.slots?.values() ?? [])].map(({ acquisition }) => acquisition)
  }

  end(): void {
    this.ended = true
  }

  /**
   * Runs the attempts for one key one after another: two at once would refuse each other, and the second would report
   * that another owner holds the lock.
   */
  serialized<T>(key: string, attempt: () => Promise<T>): Promise<T> {
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

  /**
   * Calls the listener when this context comes to hold the key while the caller waits for it. Returns a function that
   * removes the listener.
   */
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

  /** Whether a call in this context for the key has not got an answer yet. */
  isWaitingFor(key: string): boolean {
    return this.parked?.has(key) === true
  }

  /** The acquisition that `lock()` or `acquire()` made in this context. */
  heldByHand(scope: string): ReentryPlace | undefined {
    return this.slots?.get(scope)
  }

  /**
   * Records the context's own acquisition of a key, for every sibling to re-enter, including siblings already
   * waiting.
   */
  keep(acquisition: Reenterable): void {
    const { scope } = acquisition.protocol
    const slots = (this.slots ??= new Map<string, ReentryPlace>())
    if (slots.get(scope)?.acquisition !== acquisition) {
      slots.set(scope, new ReentryPlace(acquisition))
    }
    const listeners = this.parked?.get(scope)
    if (listeners) {
      for (const listener of [...listeners]) {
        listener()
      }
    }
  }

  forget(acquisition: Reenterable): void {
    const { scope } = acquisition.protocol
    if (this.slots?.get(scope)?.acquisition === acquisition) {
      this.slots.delete(scope)
    }
  }
}

/** Where a call was made: its context, and the `withLock` around it. */
export interface CallSite {
  readonly context: Context
  readonly frame: Frame | null
}

/** Nothing is held at this call site, and nothing can be acquired in its name any more. */
export function isOver({ context, frame }: CallSite): boolean {
  return !context.alive && !context.keepsAny && frame?.alive !== true && !frame?.outer
}

/** The call sites around a context, innermost first. */
export function* sitesAround(context: Context): Iterable<CallSite> {
  for (let site = context.forkedFrom; site; site = site.context.forkedFrom) {
    yield site
  }
}

/** The acquisition that a caller at this call site may re-enter, and the mutex it shares there with its siblings. */
export interface Enclosing {
  readonly acquisition: Reenterable
  readonly within: { readonly siblingMutex: SiblingMutex }
}

/** The nearest hold of a key around a call site: of an enclosing `withLock`, or of the context itself. */
export function enclosing(site: CallSite, scope: string): Enclosing | undefined {
  for (let frame = site.frame; frame && frame.context === site.context; frame = frame.outer) {
    if (frame.scope === scope && frame.alive && !frame.acquisition.isReleased) {
      return { acquisition: frame.acquisition, within: frame }
    }
  }
  const within = site.context.heldByHand(scope)
  return within && { acquisition: within.acquisition, within }
}

/** The hold of a key by an ancestor: a context that this one was forked from, directly or indirectly. */
export function heldByAncestor(context: Context, scope: string): Reenterable | undefined {
  for (const site of sitesAround(context)) {
    const found = enclosing(site, scope)
    if (found && !found.acquisition.isOver) {
      return found.acquisition
    }
  }
  return undefined
}
