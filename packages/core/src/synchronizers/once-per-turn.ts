import type { Runtime } from '../runtime/runtime.js'

/**
 * Questions that are asked by many in one turn of the event loop are asked once. Not longer: an answer to what was
 * asked before a message came is not an answer about what the message is about.
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
