// A hundred thousand callers for locks that others have, who go at any instant of it: none leaves a trace (I8).
import diagnostics from 'node:diagnostics_channel'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { LOCK_CHANNELS, LockClient, type ObservedCall } from '@holdfast/core'
import { FaultProxy, type RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import type { Worker } from '../run/fleet.js'
import { count, oneOf } from '../run/options.js'
import { seededRandom } from '../run/random.js'
import { defineScenario, type Roles, type Run } from '../run/scenario.js'
import { AbandoningCallers, Holders, type CallerFigures } from './abandoned/callers.js'
import { Ledger } from './abandoned/ledger.js'
import { heapInUse, timers, tracesIn } from './abandoned/traces.js'

const NAMES = Array.from({ length: 6 }, (_, i) => `abandoned:${i}`)
const ROUNDS = 10
// Of the rounds: what the heap is compared with afterwards.
const WARM_AFTER = 2
const MOST_GROWTH = 1.15
const DELAY_MS = 2
// A trace that is gone within a second of the last answer is none (I8).
const GRACE_MS = 1_000
const INBOX = 'holdfast:client:'
// A hold that is left behind must not end by itself before the runner looks.
const LEASE_MS = 600_000
// Long, so that a tick that was not called off is still there when the runner looks.
const RESYNC_MS = 5_000

const options = {
  waits: count(100_000, 'calls for a lock, most of which end before they have it'),
  passing: oneOf(['on', 'off'], 'locks go from caller to caller in memory'),
}

interface Figures extends CallerFigures {
  readonly parked: number
  readonly passed: number
  taken: number
  late: number
  renamed: number
  repeated: number
}

const NONE: Figures = {
  ...{ won: 0, aborted: 0, timedOut: 0, unanswered: 0, longestMs: 0, parked: 0, passed: 0 },
  ...{ taken: 0, late: 0, renamed: 0, repeated: 0 },
}

export const abandoned = defineScenario({
  name: 'abandoned',
  summary: 'Callers that go at any instant of their wait leave nothing behind.',
  options,
  smoke: '--waits 2000',
  long: '',
  heading: ({ waits, passing }) => `${waits} waits, local passing ${passing}`,

  async run(run) {
    const redis = await run.redis()
    const proxy = await FaultProxy.start(redis)
    run.after(() => proxy.stop())
    proxy.delay(DELAY_MS)
    const series = await Series.open(run, redis, proxy)
    for (let round = 1; round <= ROUNDS && series.violations.length === 0; round += 1)
      await series.round(round)
    if (series.violations.length === 0) await series.close()
    const { figures, growth, violations } = series
    const { aborted, timedOut, won, unanswered, parked, late, taken } = figures
    return {
      figures: { ...figures, growth },
      violations,
      report: [
        `${aborted} aborted, ${timedOut} timed out, ${won} won, ${unanswered} without an answer; ${parked} had begun to wait`,
        `${late} came too late for their caller and were given back; others took the locks ${taken} times`,
        `${figures.passed} were passed on in memory, ${figures.renamed} times a name followed, ${figures.repeated} times a caller that was given a lock tried too`,
        `longest call ${Math.round(figures.longestMs)} ms; heap after to heap before ${growth.toFixed(3)}`,
      ],
    }
  },

  worker: callersAndHolders,
})

/** Two processes of callers, one of them far away, and one that holds the locks now and then. */
class Series {
  figures: Figures = NONE
  growth = 0
  readonly violations: string[] = []
  private warm: readonly number[] = []

  private constructor(
    private readonly run: Run<typeof options>,
    private readonly redis: RedisServer,
    private readonly ledger: Ledger,
    private readonly workers: { readonly near: Worker; readonly far: Worker; readonly holder: Worker },
  ) {}

  static async open(run: Run<typeof options>, redis: RedisServer, proxy: FaultProxy): Promise<Series> {
    const passing = run.options.passing === 'on'
    const launch = ({ port }: { port: number }, number: number): Promise<Worker> =>
      run.fleet.launch({ port, passing, names: NAMES, seed: run.seed * 3 + number })
    const ledger = await Ledger.open(redis, NAMES)
    run.after(() => ledger.close())
    const [near, far, holder] = [await launch(redis, 0), await launch(proxy, 1), await launch(redis, 2)]
    return new Series(run, redis, ledger, { near, far, holder })
  }

  async round(number: number): Promise<void> {
    const { interrupted, options: wanted, unlessInterrupted, progress } = this.run
    const { near, far, holder } = this.workers
    interrupted.throwIfAborted()
    const until = (round: number): number => Math.round((wanted.waits * round) / ROUNDS)
    const share = until(number) - until(number - 1)
    const half = Math.floor(share / 2)
    await holder.process.call('hold')
    const waits = [near.process.call('wait', half), far.process.call('wait', share - half)]
    const told = (await unlessInterrupted(Promise.all(waits))) as Figures[]
    const taken = this.figures.taken + Number(await holder.process.call('stopHolding'))
    const sum = (what: keyof Figures): number => told.reduce((total, each) => total + each[what], 0)
    this.figures = {
      ...this.figures,
      ...{
        won: sum('won'),
        aborted: sum('aborted'),
        timedOut: sum('timedOut'),
        unanswered: sum('unanswered'),
      },
      ...{ parked: sum('parked'), passed: sum('passed'), taken },
      longestMs: Math.max(...told.map(({ longestMs }) => longestMs)),
    }
    await this.lookForTraces()
    if (number === WARM_AFTER) this.warm = await this.heaps()
    progress(`${until(number)} waits`)
  }

  async close(): Promise<void> {
    const heaps = await this.heaps()
    this.growth = Math.max(...heaps.map((bytes, i) => bytes / (this.warm[i] ?? bytes)))
    if (this.growth > MOST_GROWTH) {
      this.violations.push(`I8 the heap has grown by ${Math.round((this.growth - 1) * 100)} %`)
    }
    for (const left of await this.run.fleet.callAll<string[]>('close')) this.note('after close', left)
    this.note('after close', await this.leftInRedis([]))
  }

  /** Every caller has gone: a second later nothing tells of them (I8). */
  private async lookForTraces(): Promise<void> {
    const endsAt = performance.now() + GRACE_MS
    const look = async (): Promise<string[]> => [
      ...(await this.leftInRedis([INBOX])),
      ...(await this.uncounted()),
    ]
    let left = await look()
    while (left.length > 0 && performance.now() < endsAt) {
      await sleep(10)
      left = await look()
    }
    this.note('in Redis', left)
    for (const traces of await this.run.fleet.callAll<string[]>('traces')) this.note('in a process', traces)
  }

  private note(where: string, left: readonly string[]): void {
    if (left.length > 0) this.violations.push(`I8 left behind ${where}: ${left.join(', ')}`)
  }

  private async leftInRedis(allowed: readonly string[]): Promise<string[]> {
    const keys = (await this.redis.command('KEYS', '*')) as string[]
    const channels = (await this.redis.command('PUBSUB', 'CHANNELS')) as string[]
    const patterns = Number(await this.redis.command('PUBSUB', 'NUMPAT'))
    const others = channels.filter((channel) => !allowed.some((start) => channel.startsWith(start)))
    return [...keys, ...others, ...(patterns > 0 ? [`${patterns} patterns`] : [])]
  }

  /** What Redis gave, once each, it got back; and callers were told of no hold that was neither taken nor passed on. */
  private async uncounted(): Promise<string[]> {
    const wrong = await this.ledger.atRest()
    const { taken, renamed, repeated } = this.ledger
    const late = taken + this.figures.passed - (this.figures.won + this.figures.taken)
    Object.assign(this.figures, { late, renamed, repeated })
    return late >= 0
      ? wrong
      : [...wrong, `${-late} callers were told that they had a lock that was not taken (I1)`]
  }

  private heaps(): Promise<number[]> {
    const { near, far } = this.workers
    return Promise.all([near, far].map(async ({ process }) => Number(await process.call('heap'))))
  }
}

function callersAndHolders(): Roles {
  let client: LockClient
  let redis: Redis
  let callers: AbandoningCallers
  let holders: Holders
  let timersBefore = 0
  let parked = 0
  // Held without a command to Redis.
  let passed = 0
  return {
    async begin({
      name,
      port,
      passing,
      seed,
    }: {
      name: string
      port: number
      passing: boolean
      seed: number
    }) {
      redis = new Redis({ port })
      await once(redis, 'ready')
      client = await LockClient.connect(redis, {
        clientName: name,
        lockWatchdogTimeout: LEASE_MS,
        resyncInterval: RESYNC_MS,
        bareCalls: 'allow',
        localPassing: passing,
      })
      client.on('waiting', () => (parked += 1))
      diagnostics.subscribe(LOCK_CHANNELS.callEnded, (message) => {
        passed += (message as ObservedCall).path === 'passed' ? 1 : 0
      })
      const parts = { client, names: NAMES, random: seededRandom(seed) }
      callers = new AbandoningCallers(parts)
      holders = new Holders(parts)
      timersBefore = timers()
    },
    async wait(times: number) {
      await callers.wait(times)
      return { ...callers.figures, parked, passed }
    },
    hold: () => holders.start(),
    /** How many holds were told to their callers since `hold`. */
    stopHolding: () => holders.stop(),
    async traces() {
      const endsAt = performance.now() + GRACE_MS
      while (tracesIn(client, timersBefore).length > 0 && performance.now() < endsAt) await sleep(10)
      return tracesIn(client, timersBefore)
    },
    heap: () => heapInUse(),
    async close() {
      await client.close()
      const ended = once(redis, 'end')
      redis.disconnect()
      await ended
      return tracesIn(client, 0)
    },
  }
}
