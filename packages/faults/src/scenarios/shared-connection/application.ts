import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededRandom } from '../../run/random.js'
import type { SharedConnection } from './connection.js'

const LONGEST_PAUSE_MS = 20
const CONFLICTS = 0.2

/** How a transaction that the application opened by hand ends. After a conflict or a mistake Redis runs nothing of it. */
export const ENDS = ['exec', 'discard', 'conflict', 'mistake'] as const

export type End = (typeof ENDS)[number]

interface Parts {
  readonly connection: SharedConnection
  /** Of its own: what changes a watched key. */
  readonly rival: { set(key: string, value: string): Promise<unknown> }
  readonly random: SeededRandom
  readonly name: string
}

/**
 * Code of an application that counts in transactions, on a connection that it shares with a LockClient. It checks what
 * it is answered: a count goes up by one with each transaction that Redis ran, and by no other.
 */
export class Application {
  /** Transactions that went out as one. */
  atOnce = 0
  readonly #parts: Parts
  readonly #counter: string
  readonly #watched: string
  #counted = 0
  #isOver = false
  #turn: Promise<unknown> = Promise.resolve()
  readonly #running: Promise<void>

  constructor(parts: Parts) {
    this.#parts = parts
    this.#counter = `application:${parts.name}:count`
    this.#watched = `application:${parts.name}:watched`
    this.#running = this.#run()
    // Told by `finish`.
    this.#running.catch(() => undefined)
  }

  /** Opens a transaction by hand, as code does that needs time between its commands. */
  byHand(end: End, forMs: number): Promise<void> {
    return this.#inTurn(async () => {
      const { connection, rival } = this.#parts
      if (end === 'conflict') await connection.send('WATCH', this.#watched)
      // Without a pause between them: what Holdfast sends comes behind, and the first result is the count.
      await Promise.all([connection.send('MULTI'), connection.send('INCR', this.#counter)])
      // Refused, so that the EXEC will be.
      if (end === 'mistake') await failureOf(connection.send('SET', this.#watched))
      await sleep(forMs)
      if (end === 'conflict') await rival.set(this.#watched, String(forMs))
      await this.#ended(end)
    })
  }

  /** Rejects when it was answered anything but what Redis ran. */
  async finish(): Promise<void> {
    this.#isOver = true
    await this.#running
    await this.#turn
    const counted = Number(await this.#parts.connection.send('GET', this.#counter))
    if (counted !== this.#counted)
      throw new Error(`Redis counts ${counted} transactions of ${this.#parts.name}, not ${this.#counted}`)
    await this.#parts.connection.send('DEL', this.#counter, this.#watched)
  }

  async #ended(end: End): Promise<void> {
    const { connection } = this.#parts
    switch (end) {
      case 'exec': {
        const [count] = (await connection.send('EXEC')) as unknown[]
        this.#expect(Number(count), (this.#counted += 1))
        break
      }
      case 'discard':
        this.#expect(String(await connection.send('DISCARD')), 'OK')
        break
      case 'conflict':
        this.#expect(await connection.send('EXEC'), null)
        break
      case 'mistake':
        this.#expect(/^EXECABORT/.test((await failureOf(connection.send('EXEC'))).message), true)
    }
  }

  async #run(): Promise<void> {
    const { connection, rival, random } = this.#parts
    while (!this.#isOver) {
      await this.#inTurn(async () => {
        const isConflict = random.chance(CONFLICTS)
        await connection.send('WATCH', this.#watched)
        if (isConflict) await rival.set(this.#watched, String(this.atOnce))
        const count = await connection.increment(this.#counter)
        this.#expect(count, isConflict ? null : (this.#counted += 1))
        this.atOnce += 1
      })
      await sleep(random.between(0, LONGEST_PAUSE_MS))
    }
  }

  #expect(answered: unknown, expected: unknown): void {
    if (answered !== expected)
      throw new Error(`${this.#parts.name} was answered ${String(answered)}, not ${String(expected)}`)
  }

  /** The connection has one WATCH and one MULTI at a time. */
  #inTurn(use: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(use)
    this.#turn = mine.catch(() => undefined)
    return mine
  }
}

const failureOf = async (promise: Promise<unknown>): Promise<Error> => {
  try {
    return new Error(`answered ${JSON.stringify(await promise)}`)
  } catch (error) {
    return error as Error
  }
}
