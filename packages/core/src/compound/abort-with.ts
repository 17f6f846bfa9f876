import { onAbort } from '@holdfast/waiter'

/**
 * Aborts the controller with the first of these signals that aborts or has aborted. @returns a function that removes
 * the listeners; without calling it they stay
 */
export function abortWith(controller: AbortController, sources: readonly AbortSignal[]): () => void {
  const stops = sources.map((source) => {
    const forward = (): void => controller.abort(source.reason)
    if (source.aborted) {
      forward()
    }
    return onAbort(source, forward)
  })
  return () => stops.forEach((stop) => stop())
}
