import type { LockHold, ReleaseOutcome } from '@holdfast/core'
import { Ballot, quorumOf } from './ballot.js'
import { refused } from './errors.js'
import type { LockRequest, Member } from './member.js'
import type { RedisClient } from './redis-client.js'

/** The holds of one acquisition, by Redis client. */
export class Taken {
  readonly #holds = new Map<RedisClient, LockHold>()
  readonly #members: readonly Member[]
  #isOver = false

  constructor(
    members: readonly Member[],
    readonly request: LockRequest,
  ) {
    this.#members = members
  }

  /** The holds of Holdfast that it consists of. */
  get holds(): readonly LockHold[] {
    return [...this.#holds.values()]
  }

  /** @returns false: it has ended, and the hold has to be released */
  add(client: RedisClient, hold: LockHold): boolean {
    if (!this.#isOver) {
      this.#holds.set(client, hold)
    }
    return !this.#isOver
  }

  /** How long, in ms, a quorum may be trusted; 0 when there is none. */
  get trustedForMs(): number {
    const quorum = quorumOf(this.#members.length)
    const longest = this.holds.map((hold) => hold.trustedForMs).sort((a, b) => b - a)
    return this.#isOver ? 0 : (longest[quorum - 1] ?? 0)
  }

  /** The loss that left fewer than a quorum; null while there is one. */
  get lossError(): Error | null {
    const losses = this.holds.flatMap((hold) => hold.lossError ?? [])
    const isKept = this.#holds.size - losses.length >= quorumOf(this.#members.length)
    return isKept ? null : (losses.at(-1) ?? null)
  }

  /** Calls back once when fewer than a quorum are left; returns a function that ends that. */
  onLost(callback: (error: Error) => void): () => void {
    const controller = new AbortController()
    const look = (): void => {
      const { lossError } = this
      if (lossError && !controller.signal.aborted) {
        controller.abort()
        callback(lossError)
      }
    }
    for (const { signal } of this.holds) {
      signal.addEventListener('abort', look, { signal: controller.signal })
    }
    look()
    return () => controller.abort()
  }

  /** Asks all members to keep it for the duration from now. */
  extend(duration: number, ballot: Ballot): void {
    this.#ask(ballot, async (hold) => {
      await hold.extend(duration)
      return true
    })
  }

  /** Releases all. What a Redis does not answer is sent again by Holdfast, in the background at last. */
  release(ballot: Ballot): void {
    this.#isOver = true
    this.#ask(ballot, async (hold) => isReleased(await hold.release()))
  }

  /** Releases what too few have granted. Resolves when they have it. */
  async abandon(): Promise<void> {
    this.#isOver = true
    await Promise.allSettled(this.holds.map((hold) => hold.release()))
  }

  #ask(ballot: Ballot, ask: (hold: LockHold) => Promise<boolean>): void {
    for (const { client } of this.#members) {
      const hold = this.#holds.get(client)
      if (!hold || hold.lossError) {
        ballot.voteAgainst(client, this.#refusal(hold?.lossError))
        continue
      }
      ask(hold).then(
        (isDone) => (isDone ? ballot.voteFor(client) : ballot.voteAgainst(client, this.#refusal())),
        (error: unknown) => ballot.voteAgainst(client, asError(error)),
      )
    }
  }

  #refusal(cause?: Error | null): Error {
    return refused(this.request.resources.length, cause)
  }
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

function isReleased(outcome: ReleaseOutcome): boolean {
  return outcome === 'released' || outcome === 'still-held'
}
