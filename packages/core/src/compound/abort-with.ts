import { onAbort } from '@holdfast/waiter'

/** Aborts with the first of these signals that does, or has. @returns ends that, or its listeners stay */
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
