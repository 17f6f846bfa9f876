/** Callers of one process: each does one step after the other, until all are told to end. */
export class Crew {
  #isOver = false
  readonly #running: readonly Promise<void>[]
  readonly #failures: unknown[] = []

  constructor(steps: readonly (() => Promise<unknown>)[]) {
    this.#running = steps.map(async (step) => {
      try {
        while (!this.#isOver) await step()
      } catch (error) {
        this.#failures.push(error)
      }
    })
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Lets what is under way come to its end. Rejects with what a caller met that may never be. */
  async finish(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
    if (this.#failures.length > 0) throw this.#failures[0]
  }
}
