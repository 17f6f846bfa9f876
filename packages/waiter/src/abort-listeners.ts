interface Listeners {
  readonly callbacks: Set<() => void>
  readonly listener: () => void
}

const bySignal = new WeakMap<AbortSignal, Listeners>()

/**
 * Calls the callback when the signal aborts. Returns a function that removes it. All callers of a signal share one
 * event listener: a thousand would make Node warn of a leak, and removing one would walk along all of them.
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
      // One callback may end another caller's wait, which removes its callback: a caller settles once.
      for (const callback of [...callbacks]) {
        if (callbacks.has(callback)) {
          callback()
        }
      }
    },
  }
  bySignal.set(signal, listeners)
  signal.addEventListener('abort', listeners.listener)
  return listeners
}
