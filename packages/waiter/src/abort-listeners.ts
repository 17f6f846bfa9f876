interface Listeners {
  readonly callbacks: Set<() => void>
  readonly listener: () => void
}

const bySignal = new WeakMap<AbortSignal, Listeners>()

/**
 * Calls back when the signal aborts; returns the un-listener. However many callers share a signal, it carries one
 * listener of ours: a thousand would make Node warn of a leak, and cost a walk along all of them to remove one.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const listeners = bySignal.get(signal) ?? listenTo(signal)
  listeners.callbacks.add(callback)
  return () => {
    listeners.callbacks.delete(callback)
    if (listeners.callbacks.size === 0) {
      signal.removeEventListener('abort', listeners.listener)
      bySignal.delete(signal)
    }
  }
}

function listenTo(signal: AbortSignal): Listeners {
  const callbacks = new Set<() => void>()
  const listeners = {
    callbacks,
    listener: () => {
      // One may end the wait of another, whose callback is removed then: a caller settles once.
      for (const callback of [...callbacks]) if (callbacks.has(callback)) callback()
    },
  }
  bySignal.set(signal, listeners)
  signal.addEventListener('abort', listeners.listener)
  return listeners
}
