interface Taker {
  readonly resolve: (data: unknown) => void
  readonly reject: (error: Error) => void
}

/** Events of a worker. Those that nobody waits for yet are kept, so that a test cannot come too late. */
export class WorkerEvents {
  readonly #listeners = new Map<string, Set<(data: unknown) => void>>()
  readonly #kept = new Map<string, unknown[]>()
  readonly #takers = new Map<string, Taker[]>()
  #endError: ((event: string) => Error) | undefined

  receive(event: string, data: unknown): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(data)
    const taker = this.#takers.get(event)?.shift()
    if (taker !== undefined) taker.resolve(data)
    else append(this.#kept, event, data)
  }

  on(event: string, listener: (data: unknown) => void): () => void {
    const listeners = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, listeners.add(listener))
    return () => void listeners.delete(listener)
  }

  once(event: string): Promise<unknown> {
    const kept = this.#kept.get(event)
    if (kept !== undefined && kept.length > 0) return Promise.resolve(kept.shift())
    if (this.#endError !== undefined) return Promise.reject(this.#endError(event))
    return new Promise((resolve, reject) => append(this.#takers, event, { resolve, reject }))
  }

  /** No more events will come: whoever waits or will wait gets the error. */
  end(error: (event: string) => Error): void {
    this.#endError = error
    for (const [event, takers] of this.#takers) for (const { reject } of takers) reject(error(event))
    this.#takers.clear()
  }
}

const append = <T>(lists: Map<string, T[]>, key: string, value: T): void => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}
