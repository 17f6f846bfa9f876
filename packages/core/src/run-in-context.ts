import type { Context } from './context.js'

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
