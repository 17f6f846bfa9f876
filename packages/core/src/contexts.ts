import { AsyncLocalStorage } from 'node:async_hooks'
import { isOver, placesAround, type Context, type CallSite } from './context.js'
import { oncePerProcess } from './runtime/once-per-process.js'

interface Ambient extends CallSite {
  readonly client: object
  /** That of other clients, one of each: one further out of the same client is never asked for. */
  readonly outer: Ambient | undefined
  /** Ends the waits of this client inside. */
  readonly signal: AbortSignal | undefined
}

const contexts = oncePerProcess('contexts', () => new AsyncLocalStorage<Ambient>())

/** The contexts of one client. Entered with `AsyncLocalStorage.run` only: `enterWith` leaks into siblings. */
export class Contexts {
  /** The innermost place of this client around the caller, dead contexts included. */
  get current(): CallSite | undefined {
    return this.ambient
  }

  /**
   * @param signal ends the waits inside, beside those around it; null: nothing around it ends them
   */
  enter<T>(place: CallSite, callback: () => T, signal?: AbortSignal | null): T {
    const { context, frame } = place
    const ending = signal === null ? undefined : this.signalBeside(signal)
    const outer = without(contexts.getStore(), this)
    return contexts.run({ context, frame, client: this, outer, signal: ending }, callback)
  }

  /**
   * What ends a wait of the caller: its own signal, or that of a `run` around it, also of one whose context has
   * ended. Whose lock it is does not matter: it is the caller who is not needed any more.
   */
  signalBeside(own: AbortSignal | undefined): AbortSignal | undefined {
    const around = this.ambient?.signal
    return own && around && own !== around ? AbortSignal.any([own, around]) : (own ?? around)
  }

  private get ambient(): Ambient | undefined {
    let ambient = contexts.getStore()
    while (ambient && ambient.client !== this) {
      ambient = ambient.outer
    }
    return ambient
  }
}

/** What a task that starts the next one from inside has around it does not grow with each. */
function without(ambient: Ambient | undefined, client: object): Ambient | undefined {
  if (!ambient || ambient.client === client) {
    return ambient?.outer
  }
  const outer = without(ambient.outer, client)
  return outer === ambient.outer ? ambient : { ...ambient, outer }
}

/**
 * Where a call that acquires stands; `thread`: whom its lock is bound to. A context that has ended acquires nothing
 * any more: such a call is bare.
 */
export function placeToAcquire(contexts: Contexts, thread: CallSite | null): CallSite | null {
  const place = contexts.current ?? null
  if (thread) {
    return place?.context === thread.context ? place : thread
  }
  return place?.context.alive === true ? place : null
}

/** Where a call that gives back stands: an ended context still can. */
export function placeToRelease(contexts: Contexts, thread: CallSite | null): CallSite | null {
  return thread ? placeToAcquire(contexts, thread) : (contexts.current ?? null)
}

/** What encloses a context that is forked now. */
export function placeToFork(contexts: Contexts): CallSite | null {
  const place = contexts.current ?? null
  // All of them, though the nearest is enough: those further out may be over since one of these was forked.
  const [around = null] = place ? [...placesAround(place.context)] : []
  return place && isOver(place) ? around : place
}

/** The context ends when the callback has settled, before whoever awaits it goes on. */
export function runIn<T>(context: Context, callback: () => T): T {
  const end = (): void => {
    context.end()
  }
  try {
    const result = callback()
    if (!isThenable(result)) {
      end()
      return result
    }
    // A thenable (a query builder) begins its work when it is awaited: that is part of the callback.
    const settled = Promise.resolve(result)
    settled.then(end, end)
    return settled as T
  } catch (error) {
    end()
    throw error
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'
}
