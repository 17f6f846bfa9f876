import { InvalidArgumentError, type LockClient } from '../../index.js'
import {
  checkWork,
  checkClient,
  checkName,
  type LockServices,
  SerialQueue,
  clientIdOf,
  partsOfOwner,
  type LockProtocol,
  randomHex,
  showsOnly,
  nativeSignal,
  checkOptions,
} from '../door.js'
import { Campaign, type TermWork } from './campaign.js'
import { CandidateUnavailableError } from './candidate-unavailable-error.js'
import { followTerms } from './changes.js'
import {
  checkElectionOptions,
  rulesOf,
  type ElectionOptions,
  type ElectionRules,
} from './election-options.js'
import { leaderIn, type Leader } from './leader.js'
import { ask, look, type ElectionKeys, type LookReply } from './scripts.js'
import type { Term } from './term.js'

/** One that waits to lead. */
export interface Candidate {
  /** The candidate id that `resign({ to })` takes. */
  readonly clientId: string
  readonly clientName: string
  /** In the queue, from 1. */
  readonly place: number
}

const SIGNAL_OPTION = { signal: true } as const
const RESIGN_OPTIONS = { to: true } as const
const QUESTION_BYTES = 8

/**
 * Elects one leader among all processes that use the same name on the same Redis. The election is the fair lock of that
 * name: candidates lead in the order in which they came, and a candidate that has died is passed over.
 */
export class Election {
  private readonly election: ElectionKeys
  private readonly rules: ElectionRules
  private campaign: Campaign | null = null
  private stopping = new AbortController()
  private ended: Promise<void> = Promise.resolve()
  /** Redis keeps one answer for each term, and one bell rings for it. */
  private readonly questions = new SerialQueue()

  /** @internal Made by `getElection`. */
  constructor(
    private readonly locks: LockClient,
    private readonly session: LockServices,
    private readonly lock: LockProtocol,
    options: ElectionOptions,
  ) {
    this.election = { lockName: lock.lockName, key: lock.key }
    this.rules = rulesOf(lock.lockName, options, session)
  }

  /** The name of the election. */
  get name(): string {
    return this.lock.lockName
  }

  /** The term of this process that goes on; null: it does not lead, or no longer. */
  get term(): Term | null {
    const { term = null } = this.campaign ?? {}
    return term?.signal.aborted === false ? term : null
  }

  /**
   * Campaigns: waits in the queue without a limit, runs the callback while it leads, and stands in the queue again when a term has
   * ended. Resolves when the campaign is stopped, by `signal`, `close()` or the end of the client, and the callback of a
   * term that went on has settled.
   *
   * A term ends when its callback returns or throws, when `resign()` or the end of the campaign asks for it, or when it is
   * lost. What the callback throws goes to `onError`. After terms that their callback ended within a lease it pauses, from
   * 1 s to a lease, and other candidates lead meanwhile.
   * @throws InvalidArgumentError it campaigns already; ClientClosedError; WrongTypeError something else has the name.
   *   RedisUnavailableError does not end a campaign
   */
  async lead(work: TermWork, options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    checkWork('work', work)
    checkOptions('options', options, SIGNAL_OPTION)
    const stop = this.stopBy(options.signal)
    this.session.assertOpen(this.name)
    if (this.campaign) {
      const rule = 'called once at a time: make another election object for another candidate of this process'
      throw new InvalidArgumentError('lead', this.name, rule)
    }
    const { locks, session, lock, rules } = this
    const campaign = new Campaign({ locks, session, lock, rules, work, stop })
    this.campaign = campaign
    const run = campaign.run().finally(() => (this.campaign = null))
    this.ended = run.catch(() => undefined)
    await run
  }

  /** Asks Redis who leads. Null: nobody. @throws RedisUnavailableError, WrongTypeError, ClientClosedError */
  async current(): Promise<Leader | null> {
    return leaderIn(await this.look(false))
  }

  /** Asks Redis who waits to lead, the next one first. @throws as `current` */
  async candidates(): Promise<Candidate[]> {
    const { line } = await this.look(true)
    return line.map((owner, i) => {
      const clientId = clientIdOf(owner)
      return { clientId, clientName: partsOfOwner(owner)?.clientName ?? clientId, place: i + 1 }
    })
  }

  /**
   * Follows who leads: the present first, null for nobody, then every change. A term that went by while the connection was
   * lost is told afterwards, with a `leaseLeftMs` of 0, up to the latest 32; a null between two terms may be left out. The
   * death of a leader shows when its lease ends, or the next one leads. Ends with `signal`, `close()` or its client; goes
   * on when Redis is out of reach.
   * @throws InvalidArgumentError, ClientClosedError; while it follows, what Redis refuses for good
   */
  changes(options: { signal?: AbortSignal | undefined } = {}): AsyncGenerator<Leader | null, void, void> {
    checkOptions('options', options, SIGNAL_OPTION)
    const stop = this.stopBy(options.signal)
    this.session.assertOpen(this.name)
    return followTerms(this.session, this.election, stop)
  }

  /**
   * Ends the term of this process: `term.ending` aborts, after `graceMs` `term.signal`, and when the callback has settled
   * the next candidate leads. Waits for all of that, for the reply to the release at most `releaseWaitMs`;
   * called by the callback itself, only for the beginning. The campaign goes on, at the end of the line.
   * @param options.to the client id of the candidate to lead next, in place of the first in the queue: it is asked before
   *   anything ends. If it dies before it leads, the first in the queue does. Of several calls the latest counts that names one
   * @returns false: this process does not lead
   * @throws CandidateUnavailableError that candidate does not wait or does not answer: the term goes on
   * @throws InvalidArgumentError; RedisUnavailableError it could not be asked: the term goes on
   */
  async resign(options: { to?: string | undefined } = {}): Promise<boolean> {
    checkOptions('options', options, RESIGN_OPTIONS)
    const { to } = options
    if (to !== undefined) {
      checkCandidate(to)
    }
    const { campaign, term } = this
    if (!campaign || !term) {
      return false
    }
    if (to !== undefined && !(await this.questions.runExclusive(() => this.agreed(campaign, term, to)))) {
      return false
    }
    if (term.signal.aborted) {
      return false
    }
    const { over } = campaign
    if (to !== undefined) {
      term.prefer(to)
    }
    term.end('resigned')
    if (!this.isInside(campaign)) {
      await over
    }
    return true
  }

  /**
   * Ends what goes on: the campaign, with its term as by `resign`, and every `changes()`. Resolves when `lead`
   * does; called by the callback of the term, at once. Never rejects. The election can be used again afterwards.
   */
  async close(): Promise<void> {
    this.stopping.abort()
    this.stopping = new AbortController()
    if (!this.campaign || !this.isInside(this.campaign)) {
      await this.ended
    }
  }

  /** Ends what goes on, for `await using`. See `close`. Never rejects. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  private stopBy(given: AbortSignal | undefined): AbortSignal {
    const signal = nativeSignal(given)
    return AbortSignal.any([...(signal ? [signal] : []), this.stopping.signal, this.session.closing])
  }

  private async look(asksForLine: boolean): Promise<LookReply> {
    this.session.assertOpen(this.name)
    return look(this.session.runner, { ...this.election, knownToken: '', asksForLine })
  }

  /** False: the term is over meanwhile. @throws CandidateUnavailableError */
  private async agreed(campaign: Campaign, term: Term, candidate: string): Promise<boolean> {
    const { runtime, runner, options } = this.session
    const question = randomHex(runtime, QUESTION_BYTES)
    const given = { ...this.election, owner: term.owner, candidate, question }
    const giveUpAt = runtime.now() + 2 * options.resyncInterval
    for (;;) {
      campaign.bell.answered()
      const reply = await ask(runner, given)
      const left = giveUpAt - runtime.now()
      if (reply === 'will' || reply === 'lost') {
        return reply === 'will'
      }
      if (reply === 'not-in-line' || left <= 0) {
        throw new CandidateUnavailableError(
          this.name,
          candidate,
          reply === 'asked' ? 'no-answer' : 'not-in-line',
        )
      }
      await campaign.bell.wait(Math.min(left, options.resyncInterval), term.signal)
    }
  }

  /** Whether the callback of the term calls: its end cannot be waited for there. */
  private isInside({ context }: Campaign): boolean {
    let place = this.session.contexts.current ?? null
    while (place && place.context !== context) {
      place = place.context.forkedFrom
    }
    return place !== null
  }
}

showsOnly(Election, ['name'])

/** @throws InvalidArgumentError */
function checkCandidate(to: unknown): void {
  if (typeof to !== 'string' || to === '' || to.includes(':')) {
    throw new InvalidArgumentError('to', to, 'the clientId of a candidate, as candidates() lists them')
  }
}

/**
 * Makes an election by name: of one leader among all processes that use the same name on the same Redis. Asks nothing.
 * The name is that of a fair lock: use it for nothing else.
 * @throws InvalidArgumentError, ClientClosedError
 */
export function getElection(locks: LockClient, name: string, options: ElectionOptions = {}): Election {
  checkClient(
    'locks',
    locks,
    ['getFairLock', 'fork'],
    'a LockClient and come first, as in getElection(locks, name)',
  )
  checkName(name)
  checkElectionOptions(options)
  const { session, protocol } = locks.getFairLock(name)
  return new Election(locks, session, protocol, options)
}
