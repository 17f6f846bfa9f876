import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from '@holdfast/faults/harness'
import type { Fleet, Worker } from '../../run/fleet.js'
import type { SeededRandom } from '../../run/random.js'
import { nameOf, sends, type Place } from './places.js'
import type { Act, Told, Wanted } from './process.js'

export interface Ground {
  readonly fleet: Fleet
  readonly redis: RedisServer
  readonly random: SeededRandom
  readonly leaseMs: number
  /** Ends the process, and starts another one. */
  readonly replace: (worker: Worker) => Promise<void>
}

/** What all rounds came to. */
export class Figures {
  rounds = 0
  runs = 0
  results = 0
  unknown = 0
  kills = 0
  pauses = 0
  mishaps = 0
  readonly places = new Map<string, number>()
  readonly violations: string[] = []

  toJSON(): object {
    const { rounds, runs, results, unknown, kills, pauses, mishaps } = this
    return { rounds, runs, results, unknown, kills, pauses, mishaps, places: Object.fromEntries(this.places) }
  }
}

/** The acts of one round, by run. */
class Acts {
  private readonly byRun = new Map<string, { first: number; last: number }>()

  add({ run, at }: Act): void {
    const known = this.byRun.get(run)
    this.byRun.set(run, { first: Math.min(known?.first ?? at, at), last: Math.max(known?.last ?? at, at) })
  }

  get runs(): number {
    return this.byRun.size
  }

  /** Two runs that both acted while they were trusted, at the same time. */
  overlap(): string | undefined {
    const spans = [...this.byRun].sort(([, a], [, b]) => a.first - b.first)
    for (const [i, [run, { first }]] of spans.entries()) {
      const before = spans.slice(0, i).find(([, span]) => span.last > first)
      if (before) return `${before[0]} acted ${(before[1].last - first).toFixed(3)} ms after ${run} began`
    }
    return undefined
  }
}

const LATEST_COPY_MS = 300
/** Beyond the leases of those who die: retries, a busy machine. */
const PATIENCE_MS = 15_000
const STILL_MS = 150

/** One key: all processes ask for it, and one of them, or more, is killed at a place. */
export class Round {
  private readonly acts = new Acts()
  private readonly lock: string
  private readonly killed = new Set<Worker>()
  private readonly replacements: Promise<void>[] = []
  private kills = 0

  constructor(
    private readonly ground: Ground,
    private readonly figures: Figures,
    private readonly key: string,
    private readonly place: Place | null,
  ) {
    this.lock = `share:faults:${key}`
  }

  async run(): Promise<void> {
    const { ground, figures, key, place } = this
    const { random, leaseMs, fleet } = ground
    const wanted: Wanted = {
      key,
      calls: 1 + random.whole(4),
      workMs: random.between(20, 80),
      onCrash: random.chance(0.3) ? 'fail' : 'rerun',
      waitMs: 3 * leaseMs + PATIENCE_MS,
    }
    const workers = [...fleet.workers]
    const [first, ...others] = workers as [Worker, ...Worker[]]
    const stops = workers.map((worker) => this.listen(worker))
    this.arm(first, others)
    const answers = [this.ask(first, wanted)]
    // The first is to run: the others come when it has begun, or cannot.
    await Promise.race([this.begun(), sleep(STILL_MS)])
    answers.push(...others.map((worker) => this.ask(worker, wanted)))
    const told = (await Promise.all(answers)).flat()
    stops.forEach((stop) => stop())
    await Promise.all(this.replacements)
    figures.rounds += 1
    figures.runs += this.acts.runs
    figures.kills += this.kills
    if (place && this.kills > 0) {
      figures.places.set(nameOf(place), (figures.places.get(nameOf(place)) ?? 0) + 1)
    }
    await this.judge(told, wanted)
  }

  private begunNow: () => void = () => undefined
  private readonly beginning = new Promise<void>((resolve) => (this.begunNow = resolve))

  private begun(): Promise<void> {
    return this.beginning
  }

  private listen(worker: Worker): () => void {
    const stops = [
      worker.process.on('acted', (data) => {
        const act = data as Act
        if (act.key === this.key) {
          this.begunNow()
          this.acts.add(act)
        }
      }),
      worker.process.on('moment', (data) => {
        const { key, moment } = data as { key: string; moment: string }
        if (key === this.key) this.atMoment(worker, moment)
      }),
    ]
    return () => stops.forEach((stop) => stop())
  }

  /** Kills at a place that is a step, or breaks what is sent without a kill. */
  private arm(first: Worker, others: readonly Worker[]): void {
    const { place, ground, figures } = this
    const { random } = ground
    if (!place) {
      const victim = random.pick([first, ...others])
      const match = sends(random.pick(['enter', 'subscribe', 'finish', 'fetch'] as const), this.lock)
      const { proxy } = victim
      if (!proxy || !random.chance(0.7)) return
      const fault = random.pick([
        () => proxy.loseRequest(match),
        () => proxy.loseReply(match),
        () => proxy.copyLate(match, random.between(0, LATEST_COPY_MS)),
      ])()
      fault.happened.then(
        () => (figures.mishaps += 1),
        () => undefined,
      )
      return
    }
    if ('step' in place) {
      const victim = place.who === 'runner' ? first : random.pick(others)
      const match = sends(place.step, this.lock)
      const fault =
        place.loses === 'request' ? victim.proxy?.loseRequest(match) : victim.proxy?.loseReply(match)
      fault?.happened.then(
        () => this.kill(victim),
        () => undefined,
      )
    } else if (place.who === 'waiter') {
      const victim = random.pick(others)
      void this.beginning.then(() => sleep(random.between(5, 25))).then(() => this.kill(victim))
    }
  }

  /** Kills at a moment of a run. */
  private atMoment(worker: Worker, moment: string): void {
    const { place, ground, figures } = this
    if (!place || 'step' in place || place.who === 'waiter' || place.at !== moment) return
    const most = 'alsoNext' in place ? 2 : 1
    if (place.who === 'all but one') {
      if (this.kills === 0) {
        const spared = ground.random.pick(ground.fleet.workers.filter((each) => each !== worker))
        ground.fleet.workers.filter((each) => each !== spared).forEach((each) => this.kill(each))
      }
    } else if ('pausedFirst' in place) {
      if (figures.pauses === 0 || this.kills === 0) this.pauseThenKill(worker)
    } else if (this.kills < most) {
      this.kill(worker)
    }
  }

  private isPausing = false

  private pauseThenKill(worker: Worker): void {
    if (this.isPausing) return
    this.isPausing = true
    this.figures.pauses += 1
    const pausing = async (): Promise<void> => {
      await worker.process.pause()
      await sleep(2 * this.ground.leaseMs)
      worker.process.resume()
      await sleep(STILL_MS)
      this.kill(worker)
    }
    this.replacements.push(pausing())
  }

  private kill(worker: Worker): void {
    if (this.killed.has(worker) || !this.ground.fleet.workers.includes(worker)) return
    this.killed.add(worker)
    this.kills += 1
    this.replacements.push(this.ground.replace(worker))
  }

  /** @returns nothing of a process that was killed */
  private async ask(worker: Worker, wanted: Wanted): Promise<Told[]> {
    try {
      return (await worker.process.call('call', wanted)) as Told[]
    } catch (error) {
      if (this.killed.has(worker)) return []
      throw error
    }
  }

  private async judge(told: readonly Told[], { onCrash }: Wanted): Promise<void> {
    const { figures, ground, lock, key } = this
    const where = `${key} (${this.place ? nameOf(this.place) : 'no kill'}, ${onCrash})`
    const overlap = this.acts.overlap()
    if (overlap !== undefined) figures.violations.push(`I12 two trusted runs of ${where}: ${overlap}`)
    const values = new Set(told.flatMap((each) => ('value' in each ? [each.value] : [])))
    if (values.size > 1) {
      figures.violations.push(`I13 ${where} has ${values.size} results: ${[...values].join(', ')}`)
    }
    const codes = told.flatMap((each) => ('code' in each ? [each.code] : []))
    figures.results += told.length - codes.length
    figures.unknown += codes.length
    const expected = onCrash === 'fail' ? ['SHARE_OUTCOME_UNKNOWN'] : []
    const wrong = codes.filter((code) => !expected.includes(code))
    if (wrong.length > 0)
      figures.violations.push(`I13 ${where}: calls ended with ${[...new Set(wrong)].join(', ')}`)
    const [value] = values
    if (value !== undefined && codes.length === 0) {
      const kept = (await ground.random.pick(ground.fleet.workers).process.call('kept', key)) as string
      if (kept !== value) figures.violations.push(`I13 ${where}: all have ${value}, and ${kept} is kept`)
    }
    const holders = (await ground.redis.command('HKEYS', lock)) as string[]
    if (holders.length > 0 && codes.length === 0) {
      await sleep(2 * ground.leaseMs)
      const still = (await ground.redis.command('HKEYS', lock)) as string[]
      if (still.length > 0) figures.violations.push(`${where} is left with its lock (orphan)`)
    }
  }
}
