import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from '@holdfast/faults/harness'
import type { Fleet, Worker } from '../../run/fleet.js'
import type { SeededRandom } from '../../run/random.js'
import { nowMs } from '../../run/shared-clock.js'
import type { Lane } from './lanes.js'
import { LATEST_COPY_MS, type Mishaps, type Step } from './mishaps.js'
import type { Told } from './porter.js'

/** How long a lock may wait to be adopted where somebody is to adopt it; and where the queue loses the job. */
const KEEP_MS = 10_000
const KEEP_OF_LOST_JOB_MS = 300
/** Between the end of `keepMs` and a look at Redis: a busy machine, and a copy of the hand-over that runs first. */
const LOOK_AFTER_MS = 1_700
const LONGEST_PAUSE_MS = 5

export interface Road {
  readonly fleet: Fleet
  readonly redis: RedisServer
  readonly random: SeededRandom
  readonly mishaps: Mishaps
  /** Ends the process, and starts another one. */
  readonly kill: (worker: Worker) => Promise<void>
  readonly killShare: number
  /** How long a lock may stay away after a journey: what was left behind has ended by then. */
  readonly patienceMs: number
}

/** What all journeys came to. */
export class Figures {
  adoptions = 0
  handOvers = 0
  unknown = 0
  late = 0
  revoked = 0
  lostJobs = 0
  kills = 0
  rivals = 0
  readonly violations: string[] = []
  /** Owners whose hand-over was answered. */
  readonly over = new Set<string>()

  toJSON(): object {
    const { adoptions, handOvers, unknown, late, revoked, lostJobs, kills, rivals } = this
    return { adoptions, handOvers, unknown, late, revoked, lostJobs, kills, rivals }
  }
}

let calls = 0
const nextAttempt = (): string => `#${(calls += 1)}`

/** A call that a worker did not live to answer. */
type Answer = Told | 'killed'

interface Holder {
  readonly owner: string
  readonly worker: Worker
  readonly attempt: string
}

/** One lock from its acquisition over any number of hand-overs to its release, or to where it is left behind. */
export class Journey {
  /** One that was adopted. */
  private usedToken: string | null = null

  constructor(
    private readonly road: Road,
    private readonly lane: Lane,
    private readonly figures: Figures,
  ) {}

  async run(): Promise<void> {
    const { lane, road, figures } = this
    // Copies of the journey before arrive late, and find the lock free.
    if (road.random.chance(0.1)) await sleep(road.random.between(0, LATEST_COPY_MS))
    await this.expectNoFormerOwner()
    const [worker, attempt] = [this.anybody(), nextAttempt()]
    const taken = await this.call('take', worker, 'take', lane.kind, attempt, road.patienceMs)
    if (taken === 'refused') {
      figures.violations.push(
        `${lane.lock} is still held ${road.patienceMs} ms after its last journey (orphan)`,
      )
    }
    let current = holderIn(taken, worker, attempt)
    while (current && road.random.chance(0.7)) current = await this.handOn(current)
    if (current) await this.call('release', current.worker, 'release', current.attempt)
    if (road.random.chance(0.1)) await this.deliverAgain()
  }

  /** @returns who adopted it; null: the journey has ended */
  private async handOn({ worker, attempt, owner }: Holder): Promise<Holder | null> {
    const { road, figures } = this
    const isLost = road.random.chance(0.02)
    const keepMs = isLost ? KEEP_OF_LOST_JOB_MS : KEEP_MS
    const startedAt = nowMs()
    const given = await this.call('hand-over', worker, 'handOver', attempt, keepMs)
    if (typeof given !== 'object' || !('token' in given)) {
      figures.unknown += given === 'unknown' ? 1 : 0
      return null
    }
    figures.handOvers += 1
    figures.over.add(owner)
    if (isLost) {
      await this.expectGone(keepMs)
      return null
    }
    const meanwhile = this.perhapsRival()
    const next = road.random.chance(0.05)
      ? await this.takenBack(given.token, startedAt)
      : await this.deliver(given.token, startedAt)
    await meanwhile
    return next
  }

  /** The queue delivers the token, sometimes more often than once. */
  private async deliver(token: string, startedAt: number, isRevoked = false): Promise<Holder | null> {
    const { lane, road, figures } = this
    const times = road.random.chance(0.2) ? 2 + road.random.whole(2) : 1
    const deliveries = Array.from({ length: times }, async () => {
      if (times > 1) await sleep(road.random.between(0, LONGEST_PAUSE_MS))
      const [worker, attempt] = [this.anybody(), nextAttempt()]
      const told = await this.call('adopt', worker, 'adopt', token, attempt)
      return { told, holder: holderIn(told, worker, attempt) }
    })
    const answers = await Promise.all(deliveries)
    const adopted = answers.flatMap(({ holder }) => holder ?? [])
    figures.adoptions += adopted.length
    figures.late += answers.filter(({ told }) => told === 'gone').length
    if (adopted.length > 1) {
      figures.violations.push(`I1 ${adopted.length} calls adopted one token of ${lane.lock}`)
    }
    // Of an adopter without an answer, or one that died, a copy may have run.
    const isExplained =
      isRevoked ||
      answers.some(({ told }) => told === 'unknown' || told === 'killed' || told === 'lost') ||
      nowMs() - startedAt >= KEEP_MS
    if (adopted.length === 0 && !isExplained) {
      figures.violations.push(
        `${lane.lock} was handed over, and gone before anybody adopted it: somebody was in between`,
      )
    }
    if (adopted.length > 0) this.usedToken = token
    const [first, ...others] = adopted
    for (const each of others) await this.call('release', each.worker, 'release', each.attempt)
    return first ?? null
  }

  /** A delivery of a job that was done long ago. */
  private async deliverAgain(): Promise<void> {
    const { lane, figures, usedToken: token } = this
    if (token === null) return
    const told = await this.call('adopt', this.anybody(), 'adopt', token, nextAttempt())
    figures.late += told === 'gone' ? 1 : 0
    if (typeof told === 'object') {
      figures.violations.push(`I1 a token of ${lane.lock} was adopted, and adopted again after the release`)
    }
  }

  /** The queue refused the job, or said so: the token may have been delivered all the same. */
  private async takenBack(token: string, startedAt: number): Promise<Holder | null> {
    const { road, figures, lane } = this
    const wasDelivered = road.random.chance(0.5)
    const [revoked, holder] = await Promise.all([
      this.call('revoke', this.anybody(), 'revoke', token),
      wasDelivered ? this.deliver(token, startedAt, true) : null,
    ])
    figures.revoked += revoked === 'done' ? 1 : 0
    if (!wasDelivered && revoked === 'nothing') {
      figures.violations.push(
        `${lane.lock} was handed over, and gone before it was revoked: somebody was in between`,
      )
    }
    return holder
  }

  /** The job is lost. Nobody brings the token: the lock does not wait for longer than it was told to. */
  private async expectGone(keepMs: number): Promise<void> {
    const { redis } = this.road
    this.figures.lostJobs += 1
    await sleep(keepMs + LOOK_AFTER_MS)
    const fields = (await redis.command('HKEYS', this.lane.lock)) as string[]
    const orphan = fields.find((field) => field.startsWith('handover~'))
    if (orphan !== undefined) {
      this.figures.violations.push(
        `${this.lane.lock} waits to be adopted after its keepMs of ${keepMs} ms (orphan)`,
      )
    }
  }

  /** Who handed the lock over never has it again, whatever copies of its commands arrive. */
  private async expectNoFormerOwner(): Promise<void> {
    const fields = (await this.road.redis.command('HKEYS', this.lane.lock)) as string[]
    const former = fields.find((field) => this.figures.over.has(field))
    if (former !== undefined) {
      this.figures.violations.push(`I2 ${former} has ${this.lane.lock}, which it handed over`)
    }
  }

  private async perhapsRival(): Promise<void> {
    const { road, lane, figures } = this
    if (!road.random.chance(0.3)) return
    const told = await this.ask(this.anybody(), 'rival', lane.lock, lane.kind, nextAttempt())
    figures.rivals += told === 'done' ? 1 : 0
  }

  private anybody(): Worker {
    return this.road.random.pick(this.road.fleet.workers)
  }

  /** One step, in which what is sent may be lost or doubled, and after or during which the process may be killed. */
  private async call(step: Step, worker: Worker, role: string, ...args: unknown[]): Promise<Answer> {
    const { road, lane, figures } = this
    road.mishaps.perhaps(step, lane.lock, worker)
    const answer = this.ask(worker, role, lane.lock, ...args)
    if (road.random.chance(road.killShare) && road.fleet.workers.includes(worker)) {
      await sleep(road.random.between(0, LONGEST_PAUSE_MS))
      figures.kills += 1
      await road.kill(worker)
    }
    return answer
  }

  private async ask({ process }: Worker, role: string, ...args: unknown[]): Promise<Answer> {
    try {
      return (await process.call(role, ...args)) as Told
    } catch (error) {
      if (await hasEnded(process)) return 'killed'
      throw error
    }
  }
}

const holderIn = (told: Answer, worker: Worker, attempt: string): Holder | null =>
  typeof told === 'object' && 'owner' in told ? { worker, attempt, owner: told.owner } : null

const hasEnded = (process: Worker['process']): Promise<boolean> =>
  Promise.race([process.exited.then(() => true), sleep(1_000, false)])
