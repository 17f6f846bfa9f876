import { setImmediate, setTimeout } from 'node:timers'
import { setImmediate as nextLoop, setTimeout as sleep } from 'node:timers/promises'
import { emit } from '@holdfast/faults/harness'
import { seededRandom, type SeededRandom } from '../../run/random.js'
import { nowMs } from '../../run/shared-clock.js'
import type { Pause } from './events.js'
import { Holds } from './holds.js'
import type { Belief, Participant } from './participant.js'

// Until the calls are on the wire, which takes much longer there.
const SENT_MS = 5
const FIRST_BLIND_MS = 20

/** The process does nothing at all meanwhile, and burns no processor either. */
const block = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** In a callback of its own, as a user would block the loop: the library's callbacks come after it. */
const blocked = (ms: number, write: () => Promise<void>): Promise<unknown> =>
  new Promise((resolve) => {
    setTimeout(() => {
      block(ms)
      const immediate = new Promise((done) => setImmediate(() => done(write())))
      resolve(Promise.all([write(), immediate]))
    }, 0)
  })

/** The process that is paused while it has locks and calls under way. */
export class Holder {
  readonly #participant: Participant
  readonly #random: SeededRandom
  readonly #settings: { readonly holder: string; readonly leaseMs: number }

  constructor(participant: Participant, settings: { holder: string; leaseMs: number; seed: number }) {
    this.#participant = participant
    this.#settings = settings
    this.#random = seededRandom(settings.seed)
  }

  /** Takes locks, is paused with calls under way, and looks at its holds. @returns how often the library resumed it */
  async round({ ms, ...pause }: Pause & { readonly ms: number }): Promise<number> {
    const holds = new Holds(this.#participant, this.#settings)
    await holds.take()
    // So that some pauses come long after the latest renewal and some right after it.
    await sleep(this.#random.between(0, this.#settings.leaseMs / 4))
    const calls = holds.begin()
    await sleep(SENT_MS)
    const write = (): Promise<void> => this.#writeBlindly(holds.beliefs, pause)
    const writes = this.#armBlindWrites(ms, write)
    for (const belief of holds.beliefs) belief.look()
    if (pause.way === 'blocked') writes.push(blocked(ms, write))
    else emit('ready')
    await Promise.all(writes)
    // Everything that waited for the loop has been called after this.
    await nextLoop()
    await nextLoop()
    await Promise.all(holds.beliefs.map((belief) => this.#assess(belief, pause)))
    await Promise.all(calls)
    await Promise.all(holds.beliefs.map((belief) => belief.giveBack()))
    return holds.resumptions
  }

  /** Blind writes that are due during the pause, one of them as early as it can be. */
  #armBlindWrites(ms: number, write: () => Promise<void>): Promise<unknown>[] {
    const later = this.#random.between(FIRST_BLIND_MS, Math.max(FIRST_BLIND_MS, ms / 2))
    return [FIRST_BLIND_MS, later].map(
      (delayMs) => new Promise((resolve) => setTimeout(() => resolve(write()), delayMs)),
    )
  }

  /** A user that looks at nothing, with and without a token; and one that asks the hold first. */
  async #writeBlindly(beliefs: readonly Belief[], pause: Pause): Promise<void> {
    const { history, user } = this.#participant
    await Promise.all(
      beliefs.map(async (belief) => {
        const { lock, owner, hold, token } = belief
        const atMs = nowMs()
        const { aborted } = hold.signal
        belief.isEnsured()
        history.add('blind', { atMs, lock, owner, aborted, ...pause })
        await Promise.all([
          user.set(`unguarded:${lock}`, owner),
          token !== undefined && this.#participant.guardedWrite(belief, token, { ...pause, isBlind: true }),
        ])
      }),
    )
  }

  /** A trusted hold is kept; Redis has to know of it as long as that lasts. */
  async #assess(belief: Belief, pause: Pause): Promise<void> {
    const { lock, owner, hold } = belief
    const isKept = !hold.signal.aborted && belief.look()
    const inRedis = isKept ? await this.#participant.user.hexists(lock, owner) : 0
    const isMissing = isKept && inRedis === 0 && hold.trustedForMs > 0
    this.#participant.history.add('assessed', { lock, owner, ...pause, isKept, isMissing })
  }
}

/** A process that is not paused, and wants all locks again and again, and uses them as they should be used. */
export class Rival {
  #isOver = false
  readonly #running: Promise<void>[]
  readonly #failures: unknown[] = []
  readonly #participant: Participant

  constructor(
    participant: Participant,
    { locks, seed, leaseMs }: { locks: readonly string[]; seed: number; leaseMs: number },
  ) {
    this.#participant = participant
    this.#running = locks.map((lock, i) =>
      this.#want(lock, seededRandom(seed * 1_000 + i), leaseMs).catch(
        (error: unknown) => void this.#failures.push(error),
      ),
    )
  }

  async finish(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
    if (this.#failures.length > 0) throw this.#failures[0]
  }

  async #want(lock: string, random: SeededRandom, leaseMs: number): Promise<void> {
    while (!this.#isOver) {
      await sleep(random.between(100, 300))
      const belief = await this.#participant.acquire(lock, random.chance(0.5) ? { leaseMs } : {})
      if (belief === null) continue
      if (belief.token !== undefined) await this.#participant.guardedWrite(belief, belief.token)
      await sleep(random.between(10, 40))
      belief.isEnsured()
      await belief.giveBack()
    }
  }
}
