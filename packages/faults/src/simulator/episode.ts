import { LockClient } from '@holdfast/core'
import type { HistoryEvent } from '@holdfast/faults/harness'
import { Journal } from './journal.js'
import { SimulatedRedis } from './network/redis-client.js'
import { Server } from './network/server.js'
import { Wire } from './network/wire.js'
import { verdictOn, type Finding, type Figures } from './verdict.js'
import { Caller } from './work/caller.js'
import type { Plan, ProcessPlan } from './work/plan.js'
import { RedisWitness } from './work/redis-witness.js'
import { Register } from './work/register.js'
import { chanceOf } from './world/chance.js'
import { Process } from './world/process.js'
import { World } from './world/world.js'

// By then every call has ended: the longest wait, the longest fault and the longest lease many times over.
const LONGEST_MS = 600_000
// Both end by themselves; the counters of fenced locks stay on purpose.
const EXPECTED = /^(holdfast:latch|redisson_lock_token):/
// They end with a lease, or a moment after the last release.
const AFTERWARDS_MS = 5_000

export interface Episode {
  readonly plan: Plan
  /** Of all that happened. */
  readonly hash: string
  readonly events: readonly HistoryEvent[]
  readonly findings: readonly Finding[]
  readonly figures: Figures
}

interface Participant {
  readonly process: Process
  readonly redis: SimulatedRedis
  readonly locks: LockClient
  readonly callers: readonly Caller[]
}

/** One world, from its plan to its verdict. */
class Run {
  readonly world = new World()
  readonly journal = new Journal(this.world)
  private readonly server: Server
  readonly witness: RedisWitness
  private readonly register: Register
  private readonly participants: Participant[] = []
  private readonly errors: unknown[] = []

  constructor(private readonly plan: Plan) {
    const { seed } = plan
    this.server = new Server(this.world, chanceOf(seed, 'server'))
    this.witness = new RedisWitness(this.world, () => this.server)
    this.register = new Register(this.world, this.journal, chanceOf(seed, 'register'))
  }

  async play(): Promise<Episode> {
    const { plan, world, journal } = this
    for (const each of plan.processes) this.launch(each)
    const isThrough = (): boolean =>
      this.participants.every(
        ({ process, callers }) => process.isDead || callers.every((each) => each.isThrough),
      )
    if (await world.run(isThrough, LONGEST_MS)) await this.close()
    return {
      ...{ plan, hash: journal.digest(), events: journal.events },
      ...verdictOn({ plan, events: journal.events, seen: this.witness.seen, errors: this.errors }),
    }
  }

  private launch({ name, callers: steps }: ProcessPlan): void {
    const { seed, settings } = this.plan
    const { world, journal, witness, register, server } = this
    const process = new Process(world, name, chanceOf(seed, `${name} chance`))
    const wire = new Wire(chanceOf(seed, `${name} wire`))
    wire.mostMs = settings.slowestMs
    const redis = new SimulatedRedis({ process, wire, primary: () => server })
    redis.on('error', () => undefined)
    const { leaseMs, resyncMs, interop, pushedGrants, localPassing, localReentry } = settings
    const locks = new LockClient(redis, {
      ...{ clientName: name, bareCalls: 'allow', runtime: process.runtime },
      ...{ lockWatchdogTimeout: leaseMs, resyncInterval: resyncMs, commandTimeout: 400 },
      ...{ unavailableTimeoutMs: 2_000, interop, pushedGrants, localPassing, localReentry },
    })
    for (const event of ['lost', 'release-failed', 'renewal-failed'] as const)
      locks.on(event, () => undefined)
    const broke = (error: unknown): void => void this.errors.push(error)
    const scene = { process, journal, witness, locks, register, localReentry, broke }
    const callers = steps.map((each) => new Caller(scene, each))
    this.participants.push({ process, redis, locks, callers })
    for (const each of callers) void each.run()
  }

  private async close(): Promise<void> {
    const { world, journal, server } = this
    const living = this.participants.filter(({ process }) => !process.isDead)
    const closed = living.map(async ({ locks, redis }) => {
      await locks.close()
      redis.disconnect()
    })
    let isClosed = false
    void Promise.all(closed).then(() => (isClosed = true))
    await world.run(() => isClosed, world.nowMs + LONGEST_MS)
    await world.run(() => false, world.nowMs + this.plan.settings.leaseMs + AFTERWARDS_MS)
    const { engine } = server
    const keys = engine.keyspace.keys().filter((key) => !EXPECTED.test(key))
    journal.add('redis', 'end', { keys, channels: engine.pubSub.heard('global'), timers: 0 })
    for (const { process } of living) {
      journal.add(process.name, 'end', { keys: [], channels: [], timers: process.timersSet })
    }
  }
}

export const play = (plan: Plan): Promise<Episode> => new Run(plan).play()
