import { Ballot } from './ballot.js'
import { refused } from './errors.js'
import { Member, type LockRequest } from './member.js'
import { now, pause, random } from './process-clock.js'
import type { RedisClient } from './redis-client.js'
import { AttemptLog, jittered, type RetrySettings } from './retry.js'
import { asError, Taken } from './taken.js'

// After votes that split, callers that try again at once would split them again.
const SPLIT_PAUSE_MS = 20
const ONCE: RetrySettings = { retryCount: 0, retryDelay: 0, retryJitter: 0 }

/** The result of an operation that was tried until it succeeded or no attempt was left. */
export interface Outcome {
  readonly isDone: boolean
  readonly log: AttemptLog
}

interface Attempting {
  readonly settings: RetrySettings
  readonly log: AttemptLog
}

/** The outcome of an attempt on several Redis clients. */
interface Round {
  readonly ballot: Ballot
  /** Null without a quorum; nothing is held then. */
  readonly taken: Taken | null
  /** The first client that somebody else has it on. */
  readonly busy: Member | null
}

/** The Redis clients of one redlock: what a quorum of them keeps is locked. */
export class Quorum {
  readonly #members: readonly Member[]

  /**
   * @param report called with the error of each vote against
   * @param db the database of the locks, if not that of each client
   */
  constructor(
    clients: Iterable<RedisClient>,
    private readonly report: (error: Error) => void,
    db?: number,
  ) {
    this.#members = [...clients].map((client) => new Member(client, db))
  }

  ballot(): Ballot {
    return new Ballot(this.#members.length, this.report)
  }

  /** Waits until a quorum has granted the lock, or no attempt is left. */
  async acquire(request: LockRequest, settings: RetrySettings): Promise<Outcome & { taken: Taken | null }> {
    const log = new AttemptLog(settings)
    const [only, ...others] = this.#members
    const taken =
      only && others.length === 0
        ? await this.#acquireAt(only, request, { settings, log })
        : await this.#acquireMost(request, { settings, log })
    return { isDone: taken !== null, log, taken }
  }

  /** One attempt that all refuse: of what is not held nothing needs to be asked. */
  refuse(resources: number): Outcome {
    const log = new AttemptLog(ONCE)
    this.#refuse(log, 1, refused(resources))
    return { isDone: false, log }
  }

  /**
   * Tries an operation on what is held until a quorum has agreed, or no attempt is left, or so much is lost that none
   * could agree any more.
   */
  async operate(taken: Taken, settings: RetrySettings, send: (ballot: Ballot) => void): Promise<Outcome> {
    const log = new AttemptLog(settings)
    for (;;) {
      const ballot = this.ballot()
      log.add(ballot)
      send(ballot)
      const isDone = await ballot.decided
      if (isDone || log.left <= 0 || taken.lossError) {
        return { isDone, log }
      }
      await pause(jittered(settings))
    }
  }

  /**
   * On one Redis all attempts after the first are one wait, which the unlock ends. They are counted as a caller that
   * polls would have made them in that time.
   */
  async #acquireAt(
    member: Member,
    request: LockRequest,
    { settings, log }: Attempting,
  ): Promise<Taken | null> {
    while (log.left > 0) {
      let answer = await this.#ask(member, request, 0)
      if (answer === null && log.left > 1) {
        this.#refuse(log, 1, refused(request.resources.length))
        const startedAt = now()
        const { retryDelay } = settings
        answer = await this.#ask(member, request, log.left === Infinity ? Infinity : log.left * retryDelay)
        const intervals = retryDelay > 0 ? Math.floor((now() - startedAt) / retryDelay) : 0
        const before = log.left === Infinity ? Math.min(intervals, 1) : Math.min(intervals, log.left - 1)
        const missed = answer === null ? log.left - 1 : before
        this.#refuse(log, missed, answer instanceof Error ? answer : refused(request.resources.length))
      }
      if (answer instanceof Taken) {
        const ballot = this.ballot()
        ballot.voteFor(member.client)
        log.add(ballot)
        return answer
      }
      this.#refuse(log, 1, answer ?? refused(request.resources.length))
      if (log.left > 0) {
        await pause(jittered(settings))
      }
    }
    return null
  }

  async #acquireMost(request: LockRequest, { settings, log }: Attempting): Promise<Taken | null> {
    let endsAt = now()
    let busy: Member | null = null
    while (log.left > 0) {
      let round: Round
      do {
        round = await this.#round(request, busy, endsAt - now())
        busy = round.busy
        const left = endsAt - now()
        if (!round.taken && left > 0) {
          await pause(busy ? Math.min(left, random() * SPLIT_PAUSE_MS) : left)
        }
      } while (!round.taken && now() < endsAt)
      log.add(round.ballot)
      if (round.taken) {
        return round.taken
      }
      endsAt = now() + jittered(settings)
    }
    return null
  }

  /**
   * Asks all for the lock. With `busy`, waits there first, with nothing in hand: all callers wait at the first Redis
   * that refused them, so its unlock lets one of them go on to the others.
   */
  async #round(request: LockRequest, busy: Member | null, waitMs: number): Promise<Round> {
    const [ballot, taken] = [this.ballot(), new Taken(this.#members, request)]
    const refusals = new Set<Member>()
    const ask = async (member: Member, limitMs: number): Promise<void> => {
      const answer = await this.#ask(member, request, limitMs, taken)
      if (answer instanceof Taken) {
        ballot.voteFor(member.client)
      } else {
        if (!answer) {
          refusals.add(member)
        }
        ballot.voteAgainst(member.client, answer ?? refused(request.resources.length))
      }
    }
    if (busy) {
      await ask(busy, Math.max(0, waitMs))
    }
    this.#members.filter((member) => member !== busy).forEach((member) => void ask(member, 0))
    if (await ballot.decided) {
      return { ballot, taken, busy: null }
    }
    await taken.abandon()
    return { ballot, taken: null, busy: this.#members.find((member) => refusals.has(member)) ?? null }
  }

  /** @returns what it has taken; null: somebody else has it; or why it failed */
  async #ask(
    member: Member,
    request: LockRequest,
    waitMs: number,
    taken = new Taken(this.#members, request),
  ): Promise<Taken | Error | null> {
    try {
      const hold = await member.take(request, waitMs)
      if (hold && !taken.add(member.client, hold)) {
        // A late answer: the attempt has ended meanwhile. What Redis does not answer is sent again by Holdfast.
        hold.release().catch(() => undefined)
      }
      return hold && taken
    } catch (error) {
      return asError(error)
    }
  }

  /** Records attempts that were refused. */
  #refuse(log: AttemptLog, count: number, error: Error): void {
    const most = Math.min(count, log.left)
    for (let i = 0; i < most; i += 1) {
      const ballot = this.ballot()
      this.#members.forEach(({ client }) => ballot.voteAgainst(client, error))
      log.add(ballot)
    }
  }
}
