import { once } from 'node:events'

/** A signal came, and what this program was doing is over. */
export class EndedBySignal extends Error {
  constructor(readonly signal: NodeJS.Signals) {
    super(`ended by ${signal}`)
  }
}

/** Resolves as the work does, or rejects with the reason of the signal, whichever is first. The work goes on by itself. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const done = new AbortController()
  // Heard of here, or by nobody.
  work.catch(() => undefined)
  const aborted = async (): Promise<never> => {
    if (!signal.aborted) {
      await once(signal, 'abort', { signal: done.signal })
    }
    throw signal.reason
  }
  try {
    return await Promise.race([work, aborted()])
  } finally {
    done.abort()
  }
}
