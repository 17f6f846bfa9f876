import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from '@holdfast/faults/harness'
import type { Fleet, Worker } from '../../run/fleet.js'
import type { History } from '../../run/history-file.js'
import type { SeededRandom } from '../../run/random.js'
import { nowMs } from '../../run/shared-clock.js'
import type { Follower } from './follower.js'
import type { ElectionEventKind } from './verdict.js'

export interface ElectorateParts {
  readonly fleet: Fleet
  readonly redis: RedisServer
  readonly random: SeededRandom
  readonly history: History<ElectionEventKind>
  readonly follower: Pick<Follower, 'leader' | 'terms'>
  readonly leaseMs: number
  /** Whether Redis may lose its data, too. */
  readonly losesData: boolean
  readonly launch: () => Promise<unknown>
}

const LONGEST_TERM_MS = 60
const HARMS = ['kill', 'kill', 'stop', 'cut off', 'cut off', 'break', 'restart'] as const
/** Of the steps with faults. */
const HARM = 0.6

/** What is done to the candidates, one thing after another: most of it to the one that leads. */
export class Electorate {
  readonly #parts: ElectorateParts
  readonly #counts = new Map<string, number>()
  /** Processes that something is done to at the moment. */
  readonly #troubled = new Set<Worker>()
  #underWay: Promise<unknown>[] = []

  constructor(parts: ElectorateParts) {
    this.#parts = parts
  }

  /** Lets somebody lead for a moment, then ends the term in one way of many. */
  async step(isCalm: boolean): Promise<void> {
    const { random, follower, leaseMs } = this.#parts
    const before = follower.terms
    await sleep(random.between(5, LONGEST_TERM_MS))
    const leader = this.#leader()
    if (!leader) return
    if (isCalm || !random.chance(HARM)) await this.#endTerm(leader, isCalm)
    else await this.#harm(leader)
    // A new term, or the end of a lease, whichever is first.
    const patienceMs = 3 * leaseMs
    for (let i = 0; i < patienceMs / 5 && follower.terms === before; i += 1) await sleep(5)
  }

  /** Ends what goes on. */
  async calmDown(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  toReport(): string[] {
    const counts = [...this.#counts].sort(([a], [b]) => a.localeCompare(b))
    return [counts.map(([name, times]) => `${times} × ${name}`).join(', ')]
  }

  #leader(): Worker | undefined {
    const { fleet, follower } = this.#parts
    return fleet.workers.find(
      (each) => each.name === follower.leader?.clientName && !this.#troubled.has(each),
    )
  }

  async #endTerm(leader: Worker, isCalm: boolean): Promise<void> {
    const { random, fleet } = this.#parts
    const way = random.pick(isCalm ? ['resign', 'close'] : ['resign', 'resign', 'resign to', 'close'])
    this.#count(way)
    if (way === 'close') {
      await this.#ask(leader, 'closeAndReturn')
      return
    }
    const other = random.pick(fleet.workers)
    const to = way === 'resign to' && !this.#troubled.has(other) ? await this.#ask(other, 'clientId') : null
    await this.#ask(leader, 'resign', to ?? null)
  }

  async #harm(leader: Worker): Promise<void> {
    const { random, fleet, leaseMs, redis, losesData } = this.#parts
    const victim = random.chance(0.75) ? leader : random.pick(fleet.workers)
    const role = victim === leader ? 'leader' : 'candidate'
    const lengthMs = random.between(0.3, 2.5) * leaseMs
    switch (random.pick(losesData ? [...HARMS, 'lose data' as const] : HARMS)) {
      case 'kill':
        this.#count(`${role} killed`)
        await this.#kill(victim)
        return
      case 'stop':
        this.#count(`${role} stopped`)
        await this.#trouble(victim, async ({ process }) => {
          await process.pause()
          await sleep(lengthMs)
          process.resume()
        })
        return
      case 'cut off':
        this.#count(`${role} cut off`)
        await this.#trouble(victim, async ({ proxy }) => {
          proxy?.blackHole()
          await sleep(lengthMs)
          proxy?.pass()
        })
        return
      case 'break':
        this.#count(`connections of a ${role} broken`)
        victim.proxy?.cutAll()
        return
      case 'lose data':
        this.#count('Redis restarted without its data')
        await this.#loseData()
        return
      case 'restart':
        this.#count('Redis restarted')
        await redis.restart()
    }
  }

  /** In the background: others lead meanwhile. */
  async #trouble(worker: Worker, work: (worker: Worker) => Promise<void>): Promise<void> {
    if (this.#troubled.has(worker)) return
    this.#troubled.add(worker)
    const over = work(worker).finally(() => this.#troubled.delete(worker))
    this.#underWay.push(over)
    await sleep(0)
  }

  async #loseData(): Promise<void> {
    const { redis, history } = this.#parts
    const atMs = nowMs()
    await redis.restart({ empty: true })
    history.add('data-lost', { atMs, untilMs: nowMs() })
  }

  async #kill(worker: Worker): Promise<void> {
    const { fleet, history, launch } = this.#parts
    if (this.#troubled.has(worker)) return
    await worker.process.kill()
    history.add('killed', { process: worker.name })
    await fleet.kill(worker)
    await launch()
  }

  /** A process that is stopped or cut off meanwhile answers later, and nobody waits for it. */
  async #ask<T>(worker: Worker, role: string, ...args: unknown[]): Promise<T | undefined> {
    const { leaseMs } = this.#parts
    const answer = worker.process.call(role, ...args).catch(() => undefined) as Promise<T | undefined>
    return Promise.race([answer, sleep(2 * leaseMs, undefined)])
  }

  #count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }
}
