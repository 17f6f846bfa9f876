/**
 * Runs a callback whose failure must not reach the line: it would end the waits of other callers, or, from an async
 * function, the process.
 */
export function runQuietly(callback: () => unknown): void {
  try {
    const result = callback()
    if (result instanceof Promise) {
      result.catch(() => undefined)
    }
  } catch {
    // Reporting it is up to the code that passed the callback.
  }
}
