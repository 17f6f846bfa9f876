// Thousands of acquires, re-entries, releases and renewals whose requests and replies get lost and arrive again late,
// and after each the count in Redis (I2). What it shows: docs/reliability.md.
import { setTimeout as sleep } from 'node:timers/promises'
import type { LockEvents } from '@holdfast/core'
import type { RedisServer } from '@holdfast/faults/harness'
import type { Redis } from 'ioredis'
import { count, someOf } from '../run/options.js'
import { seededRandom } from '../harness/seeded-random.js'
import { defineScenario } from '../run/scenario.js'
import { compareAtRest } from './replay/comparison.js'
import { sum } from '../run/table.js'
import { Counts } from './replay/counts.js'
import type { Flow } from './replay/flow.js'
import { Difference, Model } from './replay/model.js'
import { LEASE_MS, Participant } from './replay/participant.js'
import { Pulse } from './replay/pulse.js'

const CLIENTS = 3
const FLOWS = 8
const LOCKS = 12
// Numbers of each client, for itself.
const KEPT_LOCKS = 4
const BATCH = 250
// Every call ends long before: the longest wait is two seconds.
const HANG_MS = 30_000
const PROGRESS_MS = 5_000
const VERSIONS = { ioredis6: 'ioredis', ioredis5: 'ioredis5' } as const

export const replay = defineScenario({
  name: 'replay',
  summary:
    'Requests and replies that get lost and arrive again late, with a look at Redis after each operation.',
  options: {
    operations: count(10_000, 'acquires, re-entries, releases and renewals'),
    client: someOf(['ioredis6', 'ioredis5'], 'clients, one after the other'),
    autoPipelining: someOf(['off', 'on'], 'auto-pipelining, one after the other'),
  },
  smoke: '--operations 500',
  long: '',

  async run({ options, seed, interrupted, progress, redis }) {
    const report: string[] = []
    const figures: object[] = []
    const combinations = options.client.flatMap((client) =>
      options.autoPipelining.map((pipelining) => ({ client, pipelining })),
    )
    for (const { client, pipelining } of combinations) {
      interrupted.throwIfAborted()
      const title = `${client}, auto-pipelining ${pipelining}`
      progress(title)
      const module = (await import(VERSIONS[client])) as { Redis: typeof Redis }
      const settings = { operations: options.operations, seed, autoPipelining: pipelining === 'on' }
      const once = async (): Promise<Outcome> =>
        playOnce({ ...settings, server: await redis(), Redis: module.Redis, interrupted, progress })
      let outcome = await once()
      if (outcome.difference && outcome.isVoid) {
        progress(
          `This run is void, leases have ended before their time; once again.\n${String(outcome.difference)}`,
        )
        outcome = await once()
      }
      if (outcome.difference)
        return { figures, report, violations: [`${title}: a difference.\n${String(outcome.difference)}`] }
      report.push(title, ...linesOf(outcome.figures))
      figures.push({ client, autoPipelining: pipelining, ...outcome.figures })
    }
    return { figures, report, violations: [] }
  },
})

interface Settings {
  readonly operations: number
  readonly seed: number
  readonly autoPipelining: boolean
  readonly server: RedisServer
  readonly Redis: typeof Redis
  readonly interrupted: AbortSignal
  readonly progress: (line: string) => void
}

type Figures = ReturnType<Play['figures']>

type Outcome =
  /** `isVoid`: something other than Holdfast may have ended a lease. */
  | { readonly difference: Difference; readonly isVoid: boolean }
  | { readonly difference: null; figures: Figures }

/** Operations in batches, whose requests and replies get lost, and after each batch a look at Redis. */
const playOnce = async (settings: Settings): Promise<Outcome> => {
  const play = new Play(settings)
  try {
    await play.open()
    await play.batches()
    await play.end()
    return { difference: null, figures: play.figures() }
  } catch (error) {
    settings.progress(String(play.pulse))
    if (!(error instanceof Difference)) throw error
    return { difference: error, isVoid: play.pulse.stumbled }
  } finally {
    await play.stop()
  }
}

const keptBy = (number: number): string[] =>
  Array.from({ length: KEPT_LOCKS }, (_, i) => `replay:kept:${number}:${i}`)

class Play {
  readonly pulse = new Pulse(LEASE_MS)
  readonly #settings: Settings
  readonly #direct: Redis
  readonly #names = Array.from({ length: LOCKS }, (_, i) => `replay:${i}`)
  readonly #clients = Array.from({ length: CLIENTS }, (_, number) => number)
  readonly #model = new Model([...this.#names, ...this.#clients.flatMap(keptBy)])
  readonly #participants: Participant[] = []
  readonly #stopped = new AbortController()
  #failure: unknown = null
  #rests = 0
  #latches = 0

  constructor(settings: Settings) {
    this.#settings = settings
    this.#direct = new settings.Redis(settings.server.url)
  }

  get #flows(): Flow[] {
    return this.#participants.flatMap(({ flows }) => flows)
  }

  get #operations(): number {
    return sum(this.#flows.map(({ operations }) => operations))
  }

  async open(): Promise<void> {
    const { seed, autoPipelining, server, Redis } = this.#settings
    for (const number of this.#clients) {
      const opened = await Participant.open({
        ...{ Redis, server, autoPipelining, number, flows: FLOWS, direct: this.#direct, model: this.#model },
        names: this.#names,
        kept: keptBy(number),
        randomOf: (i) => seededRandom((seed * CLIENTS + number) * 1_000 + i),
        onLost: (event) => void this.#lost(event),
      })
      this.#participants.push(opened)
      void opened.saboteur.harassWatchdog(LEASE_MS, this.#stopped.signal)
    }
  }

  async batches(): Promise<void> {
    const { operations, interrupted, progress } = this.#settings
    let toldAt = performance.now()
    for (let done = 0; done < operations; done = this.#operations) {
      interrupted.throwIfAborted()
      const budget = { left: Math.min(BATCH, operations - done) }
      await this.#together((flow) => flow.work(budget), budget)
      await this.#compare()
      if (performance.now() - toldAt < PROGRESS_MS) continue
      toldAt = performance.now()
      progress(`${done} operations`)
    }
  }

  /** Everything is released, the last copy has been delivered, and Redis is empty but for latches. */
  async end(): Promise<void> {
    this.#stopped.abort()
    await this.#together((flow) => flow.releaseEverything(), { left: 0 })
    await this.#compare()
    await Promise.all(this.#participants.map(({ saboteur }) => saboteur.allDelivered()))
    await this.#compare()
    await Promise.all(this.#participants.map((each) => each.close()))
    const channels = (await this.#direct.pubsub('CHANNELS')) as string[]
    this.#latches = (await this.#direct.keys('*')).length
    if (channels.length > 0) throw new Difference(`still subscribed: ${channels.join(' ')} (I5)`, [])
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    this.pulse.stop()
    this.#model.close()
    await Promise.all(this.#participants.map((each) => each.stop()))
    this.#direct.disconnect()
  }

  figures() {
    const saboteurs = this.#participants.map(({ saboteur }) => saboteur)
    return {
      operations: this.#operations,
      done: Counts.total(this.#flows.map(({ done }) => done)),
      unanswered: sum(this.#flows.map(({ unanswered }) => unanswered)),
      longestMs: Math.max(...this.#flows.map(({ longestMs }) => longestMs)),
      kinds: Counts.total(saboteurs.map(({ kinds }) => kinds)),
      hits: Counts.total(saboteurs.map(({ hits }) => hits)),
      copies: sum(saboteurs.map(({ copiesDelivered }) => copiesDelivered)),
      rests: this.#rests,
      passes: this.#model.passes,
      latches: this.#latches,
      pulse: String(this.pulse),
    }
  }

  async #compare(): Promise<void> {
    this.#failure ??= this.#model.failure
    this.#throwFailure()
    const wires = this.#participants.map(({ wire }) => wire)
    await compareAtRest({ direct: this.#direct, model: this.#model }, wires)
    this.#rests += 1
  }

  /** Nobody takes a lock away here, and trust lasts for longer than anything is broken. */
  async #lost({ lockName, owner, error }: LockEvents['lost']): Promise<void> {
    const found = await this.#direct.multi().hgetall(lockName).pttl(lockName).exec()
    const [fields, ttlMs] = found?.map(([, reply]) => JSON.stringify(reply)) ?? []
    const underWay = this.#flows.flatMap(({ name, doing }) =>
      doing?.name === lockName ? [`${name} ${doing.operation}`] : [],
    )
    this.#failure ??= this.#model.difference(
      lockName,
      `${owner} was told that it is lost (${error.reason}), while Redis has ${fields ?? ''} for ` +
        `${ttlMs ?? ''} ms (I1); under way: ${underWay.join(', ')}\n${error.stack ?? ''}`,
    )
  }

  /** Every flow comes to its end, also when one of them fails: the first failure tells. */
  async #together(work: (flow: Flow) => Promise<void>, budget: { left: number }): Promise<void> {
    const flows = this.#flows.map((flow) =>
      work(flow).catch((error: unknown) => {
        this.#failure ??= error
        budget.left = 0
      }),
    )
    const over = new AbortController()
    const hang = sleep(HANG_MS, true, { signal: over.signal }).catch(() => false)
    const hangs = await Promise.race([hang, Promise.all(flows).then(() => false)])
    over.abort()
    this.#throwFailure()
    if (hangs) throw this.#hanging()
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure as Error
  }

  #hanging(): Difference {
    const [first] = this.#flows
      .flatMap(({ name, doing }) => (doing ? [{ flow: name, ...doing }] : []))
      .toSorted((a, b) => a.startedAt - b.startedAt)
    if (!first) return new Difference('a flow waits for an end of nothing (I4)', [])
    return this.#model.difference(first.name, `${first.flow} waits for an end of its ${first.operation} (I4)`)
  }
}

const linesOf = ({
  operations,
  rests,
  unanswered,
  longestMs,
  passes,
  copies,
  latches,
  pulse,
  ...counts
}: Figures): string[] => [
  `  ${operations} operations, compared after each and at ${rests} rests; ${unanswered} were told that nobody knows`,
  `  done: ${String(counts.done)}; passed on in memory ${passes}`,
  `  broken: ${String(counts.kinds)}`,
  `  hit: ${String(counts.hits)}`,
  `  ${copies} late copies delivered, ${latches} latches; longest call ${Math.round(longestMs)} ms`,
  `  ${pulse}`,
]
