import { AsyncLocalStorage } from 'node:async_hooks'
import { refuseLazy } from '../arguments/lazy-result.js'
import { followed } from '../arguments/native-signal.js'
import { isOver, sitesAround, type Context, type CallSite } from './context.js'
import { checkFunction } from '../arguments/validate.js'
import { oncePerProcess } from '../runtime/once-per-process.js'

interface Ambient extends CallSite {
  readonly client: object
  /** The nearest call site of each other client. Only one per client is kept: `current` never asks for more. */
  readonly outer: Ambient | undefined
  /** Ends this client's waits inside. */
  readonly signal: AbortSignal | undefined
}

const contexts = oncePerProcess('contexts', () => new AsyncLocalStorage<Ambient | undefined>())

/**
 * Calls the function outside every context, of every client, and returns what it returns: a worker, a pool or a timer that
 * it makes does not keep the context of the caller, nor its signal.
 * @throws InvalidArgumentError
 */
export function detached<T>(callback: () => T): T {
  checkFunction('callback', callback)
  return contexts.run(undefined, callback)
}

/** The contexts of one client. Entered with `AsyncLocalStorage.run` only: `enterWith` leaks into sibling promises. */
export class Contexts {
  /** The innermost call site of this client around the caller, including those of ended contexts. */
  get current(): CallSite | undefined {
    return this.ambient
  }

  /** @param signal ends the waits inside, in addition to the signals around it; null: no signal around it applies */
  enter<T>(site: CallSite, callback: () => T, signal?: AbortSignal | null): T {
    const { context, frame } = site
    const ending = signal === null ? undefined : this.signalBeside(signal)
    const outer = without(contexts.getStore(), this)
    return contexts.run({ context, frame, client: this, outer, signal: ending }, callback)
  }

  /**
   * The signal that ends a wait of the caller: its own, that of an enclosing `run`, or both. A `run` counts even when
   * its context has ended, and for a lock of another thread too: the work that was cancelled is the caller's.
   */
  signalBeside(own: AbortSignal | undefined): AbortSignal | undefined {
    const around = this.ambient?.signal
    if (!own || !around) {
      return own ?? around
    }
    return own === around || own === followed.get(around) ? around : AbortSignal.any([own, around])
  }

  private get ambient(): Ambient | undefined {
    let ambient = contexts.getStore()
    while (ambient && ambient.client !== this) {
      ambient = ambient.outer
    }
    return ambient
  }
}

/**
 * Drops the client's own entries from the chain: it would otherwise grow with every task that starts the next one.
 */
function without(ambient: Ambient | undefined, client: object): Ambient | undefined {
  if (!ambient || ambient.client === client) {
    return ambient?.outer
  }
  const outer = without(ambient.outer, client)
  return outer === ambient.outer ? ambient : { ...ambient, outer }
}

/**
 * The call site in whose name a call acquires. A context that has ended acquires nothing any more: there the call is
 * unscoped.
 * @param thread the logical thread the lock is bound to, if any
 */
export function siteToAcquire(contexts: Contexts, thread: CallSite | null): CallSite | null {
  const site = contexts.current ?? null
  if (thread) {
    return site?.context === thread.context ? site : thread
  }
  return site?.context.alive === true ? site : null
}

/** The call site in whose name a call releases: an ended context still can. */
export function siteToRelease(contexts: Contexts, thread: CallSite | null): CallSite | null {
  return thread ? siteToAcquire(contexts, thread) : (contexts.current ?? null)
}

/** The call site that a context forked now has around it. */
export function siteToFork(contexts: Contexts): CallSite | null {
  const site = contexts.current ?? null
  // All are walked though the nearest is enough: those further out may have ended since one of these was forked.
  const [around = null] = site ? [...sitesAround(site.context)] : []
  return site && isOver(site) ? around : site
}

/**
 * Ends the context when the callback has settled, before the code that awaits the result goes on.
 * @param ended called when it ends
 */
export function runIn<T>(context: Context, callback: () => T, ended: (context: Context) => void): T {
  const end = (): void => {
    context.end()
    ended(context)
  }
  try {
    const result = started(callback())
    if (!isThenable(result)) {
      whole(result)
      end()
      return result
    }
    result.then(end, end)
    return result.then(whole) as T
  } catch (error) {
    end()
    throw error
  }
}

/** The result of a callback that joins a context. @throws InvalidArgumentError its work is not done yet */
export function awaited<T>(callback: () => T): T {
  const result = started(callback())
  return isThenable(result) ? (result.then(whole) as T) : whole(result)
}

/** @throws InvalidArgumentError the work of the callback is not done yet */
export function whole<T>(result: T): T {
  return refuseLazy('callback', result)
}

/** A thenable (a query builder) starts its work only when awaited: that work belongs to the callback, and its context. */
export function started<T>(result: T): T {
  return isThenable(result) ? (Promise.resolve(result) as T) : result
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'
}
