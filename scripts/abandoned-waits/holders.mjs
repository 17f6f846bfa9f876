import { setTimeout as sleep } from 'node:timers/promises'

const LONGEST_MS = 3

/** Takes each lock and gives it back, again and again. */
export class Holders {
  #parts
  #over = false
  #taken = 0
  #running = null

  /** @param {{ lockOf: (name: string) => any, names: string[], random: any }} parts */
  constructor(parts) {
    this.#parts = parts
  }

  start() {
    this.#running = Promise.all(this.#parts.names.map((name) => this.#holdAgainAndAgain(name)))
    // `stop` tells.
    this.#running.catch(() => undefined)
  }

  async stop() {
    this.#over = true
    await this.#running
    return this.#taken
  }

  async #holdAgainAndAgain(name) {
    const { lockOf, random } = this.#parts
    while (!this.#over) {
      const hold = await lockOf(name).acquire({ waitMs: 20_000 })
      this.#taken += 1
      await sleep(random.next() * LONGEST_MS)
      await hold.release()
      await sleep(random.next() * LONGEST_MS)
    }
  }
}
