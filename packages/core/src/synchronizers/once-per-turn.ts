import type { Runtime } from '../runtime/runtime.js'

/**
 * Shares one query among all callers of one event-loop turn. Not longer: a reply to a query from before a message
 * says nothing about what the message is about.
 */
export class OncePerTurn<R> {
  private readonly asked = new Map<string, Promise<R>>()

  constructor(private readonly runtime: Pick<Runtime, 'microtask'>) {}

  ask(what: string, question: () => Promise<R>): Promise<R> {
    const earlier = this.asked.get(what)
    if (earlier) {
      return earlier
    }
    const answer = question()
    this.asked.set(what, answer)
    this.runtime.microtask(() => this.asked.delete(what))
    return answer
  }
}
