import { LockClient } from '@holdfast/core'
import { lockNamed } from '../../workload/lock-kinds.js'
import type { PoolAtRest } from '../../workload/check-permits.js'
import { countOf, PERMITS } from './plan.js'
import { UNAVAILABLE_MS, type Orphan } from '../checks/at-rest.js'
import { Journal } from '../journal.js'
import { Network, restoreCounters } from '../network/network.js'
import { type Endpoint, SimulatedRedis, USUAL } from '../network/redis-client.js'
import { Wire } from '../network/wire.js'
import { chanceOf } from '../world/chance.js'
import { Process } from '../world/process.js'
import { World } from '../world/world.js'
import { Caller } from './caller.js'
import type { FaultName, Plan, Step } from './plan.js'
import { FreeLocks } from './free-locks.js'
import { keysOf } from './keys-of.js'
import { LostLevels } from './lost-levels.js'
import { RedisWitness } from './redis-witness.js'
import { RemainsOfTheDead } from './remains.js'
import { Register } from './register.js'

/** Errors that no call of a lock may end with, or that nobody awaited. */
export interface Broken {
  readonly atMs: number
  readonly lock: string | undefined
  readonly error: unknown
}

/** A command that a server has run. A script has its name in place of its hash. */
export interface Heard {
  readonly atMs: number
  readonly process: string
  readonly words: readonly string[]
  readonly reply: unknown
}

export type Listener = (heard: Heard) => void

const LEAST_COMMAND_TIMEOUT_MS = 400
const LOOK_MS = 10
const VISIT_MS = 5_000

/** Owners whose time-outs as readers of a lock are there, whether or not its hash has them. */
const readersIn = (keys: readonly string[], hash: string): string[] => {
  const [before, after] = [`{${hash}}:`, ':rwlock_timeout:']
  return keys
    .filter((key) => key.startsWith(before) && key.includes(after))
    .map((key) => key.slice(before.length, key.indexOf(after)))
}

const isSynchronizer = (name: string): boolean => /^(semaphore|permits|latch):/.test(name)

/** A process with its client and its callers. */
export interface Participant {
  readonly process: Process
  readonly wire: Wire
  readonly redis: SimulatedRedis
  /** All of its connections. */
  readonly connections: ReadonlySet<SimulatedRedis>
  readonly locks: LockClient
  readonly callers: readonly Caller[]
}

/** A command is on the wire as soon as it is given to the simulated client. */
const SOCKET = { writableLength: 0, on: () => undefined }

/** A world with its servers and processes, for those who act in it. */
export class Stage {
  readonly world = new World()
  readonly journal = new Journal(this.world)
  readonly network: Network
  readonly witness: RedisWitness
  readonly counts = new Map<FaultName, number>()
  readonly errors: Broken[] = []
  /** When each step began. */
  readonly begun = new Map<string, number>()
  readonly pools: PoolAtRest[] = []
  readonly orphans: Orphan[] = []
  /** Those of the plan that are locks. */
  readonly locks: readonly string[]
  /** Writes that fail-overs have undone. */
  readonly lostLevels = new LostLevels()
  readonly remains: RemainsOfTheDead
  readonly free: FreeLocks
  faultsOpen = 0
  /** By how much the servers' clocks were set back: everything ends so much later. */
  clockBackMs = 0
  private readonly register: Register
  private readonly participants: Participant[] = []
  private observing: Participant | null = null

  constructor(
    readonly plan: Plan,
    private readonly listener?: Listener,
  ) {
    const { seed } = plan
    this.network = new Network(this.world, seed)
    this.witness = new RedisWitness(this.world, () => this.network.primary)
    this.locks = plan.locks.filter((name) => !isSynchronizer(name))
    const keyspace = () => this.network.primary.engine.keyspace
    this.remains = new RemainsOfTheDead(this.world, keyspace, this.locks)
    this.free = new FreeLocks(this.world, keyspace, this.locks)
    this.register = new Register(this.world, this.journal, chanceOf(seed, 'register'))
    for (const lock of plan.locks) this.prepare(lock)
    for (const { name, callers } of plan.processes) this.launch(name, callers)
  }

  get living(): readonly Participant[] {
    return this.participants.filter(({ process }) => !process.isDead)
  }

  /** The process of that name, or the one that took its place. */
  inPlaceOf(name: string): readonly Participant[] {
    return this.living.filter(({ process }) => process.name.replaceAll("'", '') === name)
  }

  get isThrough(): boolean {
    return (
      this.faultsOpen === 0 && this.living.every(({ callers }) => callers.every((each) => each.isThrough))
    )
  }

  /** Resolves when every connection is there again. */
  async reconnected(): Promise<void> {
    while (this.living.some(({ connections }) => [...connections].some(({ status }) => status !== 'ready'))) {
      await this.world.sleep(LOOK_MS)
    }
  }

  /** Its process is gone from one moment to the next; another one takes up what its callers had not begun. */
  kill({ process, callers }: Participant): void {
    process.die()
    this.journal.add(process.name, 'killed')
    this.remains.of(process.name)
    this.launch(
      `${process.name}'`,
      callers.map(({ stepsLeft }) => stepsLeft),
    )
  }

  /** A client that no fault of a wire reaches, and no standstill. */
  observer(): LockClient {
    this.observing ??= this.participantNamed('observer', [])
    return this.observing.locks
  }

  restoreCounters(): void {
    restoreCounters(this.network.primary, this.plan.locks, (lock) => this.register.greatestOf(lock))
  }

  /** The rest of the permits that have no end; of those that have one none may be missing. */
  async countPermits(): Promise<void> {
    for (const name of this.plan.locks) {
      if (name.startsWith('semaphore')) {
        const free = Number(this.network.primary.command('GET', name))
        this.pools.push({ name, free, inUse: 0 })
      } else if (name.startsWith('permits')) {
        const free = await this.observer().getPermitExpirableSemaphore(name).availablePermits()
        if (free !== PERMITS)
          this.broke(new Error(`${name} has ${free} of ${PERMITS} permits at rest (I2)`), name)
      }
    }
  }

  private prepare(name: string): void {
    const { network, plan } = this
    if (/^(semaphore|permits)/.test(name)) network.primary.command('SET', name, String(PERMITS))
    else if (name.startsWith('latch')) network.primary.command('SET', name, String(countOf(plan, name)))
  }

  broke(error: unknown, lock?: string): void {
    this.errors.push({ atMs: this.world.nowMs, lock, error })
  }

  /** Finds what Redis has for living clients: those of killed ones end with their leases. */
  lookAtRest(): void {
    const { keyspace } = this.network.primary.engine
    const keys = keyspace.keys()
    const owners = this.locks.flatMap((lock) =>
      keysOf(lock).flatMap((key) => [
        ...[...(keyspace.hash(key)?.keys() ?? [])].map((owner) => ({ lock, owner, what: 'hold' as const })),
        ...readersIn(keys, key).map((owner) => ({ lock, owner, what: 'time-out' as const })),
      ]),
    )
    for (const each of owners) {
      const isAlive = this.living.some(({ process: { name } }) => each.owner.startsWith(`${name}~`))
      if (isAlive) this.orphans.push({ atMs: this.world.nowMs, ...each })
    }
  }

  /** Takes every lock once, as one who comes long after: whatever the others left, it can be had. */
  async visit(): Promise<void> {
    const { journal, plan } = this
    const { leaseMs, resyncMs } = plan.settings
    // A dead waiter stands in the queue for two heartbeats.
    const waitMs = leaseMs + 2 * resyncMs + this.clockBackMs + VISIT_MS
    for (const lock of this.locks) {
      const where = { lock, attempt: `visit ${lock}` }
      journal.add('observer', 'acquire-begin', { ...where, deadlineMs: waitMs })
      const hold = await lockNamed(this.observer(), lock).tryAcquire({ waitMs })
      journal.add('observer', hold ? 'aborted' : 'refused', where)
      if (hold) await hold.release()
      else this.broke(new Error(`${lock} cannot be had, long after the last caller (I4)`), lock)
    }
  }

  /** The processes that live, with the one that observes. */
  get clients(): readonly Process[] {
    return [...this.living, ...(this.observing ? [this.observing] : [])].map(({ process }) => process)
  }

  /** Closes every client, as a service does at its end. */
  async close(): Promise<void> {
    const all = [...this.living, ...(this.observing ? [this.observing] : [])]
    await Promise.all(
      all.map(async ({ locks, redis }) => {
        await locks.close()
        redis.disconnect()
      }),
    )
  }

  private named([name = '', script = '', ...more]: readonly string[]): readonly string[] {
    const { scripting } = this.network.primary.engine
    return name === 'evalsha'
      ? [scripting.nameOf(script) ?? script, ...more]
      : [name, script.slice(0, 40), ...more]
  }

  private launch(name: string, steps: readonly (readonly Step[])[]): void {
    const participant = this.participantNamed(name, steps)
    this.participants.push(participant)
    for (const each of participant.callers) void each.run()
  }

  private participantNamed(name: string, steps: readonly (readonly Step[])[]): Participant {
    const { seed, settings } = this.plan
    const { world, journal, witness, register, network } = this
    const process = new Process(world, name, chanceOf(seed, `${name} chance`))
    const wire = new Wire(chanceOf(seed, `${name} wire`), settings.slowestMs)
    const connections = new Set<SimulatedRedis>()
    const endpoint: Endpoint = {
      connections,
      ...{ process, wire, primary: () => network.primary },
      heard: (words, reply) =>
        this.listener?.({ ...{ atMs: world.nowMs, process: name, reply }, words: this.named(words) }),
    }
    const { maxRetriesPerRequest } = settings
    const redis = new SimulatedRedis(endpoint, { ...USUAL, maxRetriesPerRequest })
    // A listener of errors, as every service has one.
    redis.on('error', () => undefined)
    const { leaseMs, resyncMs, interop, pushedGrants, localPassing, localReentry } = settings
    const isSecond = /[02468]$/.test(name.replaceAll("'", ''))
    const releaseWaitMs = settings.someReleaseEarly && isSecond ? 0 : 1_000
    const lingerMs = settings.someLinger && isSecond && localPassing ? (interop === 'none' ? 50 : 5) : 0
    if (releaseWaitMs === 0) Object.assign(redis, { stream: SOCKET })
    const locks = new LockClient(redis, {
      ...{ clientName: name, bareCalls: 'allow', runtime: process.runtime },
      ...{ lockWatchdogTimeout: leaseMs, resyncInterval: resyncMs },
      // A script that the server does not know takes two round trips.
      commandTimeout: Math.max(LEAST_COMMAND_TIMEOUT_MS, 8 * settings.slowestMs),
      unavailableTimeoutMs: UNAVAILABLE_MS,
      ...{ releaseWaitMs, interop, pushedGrants, localPassing, lingerMs, localReentry },
    })
    for (const event of ['lost', 'release-failed', 'renewal-failed', 'unreachable'] as const) {
      locks.on(event, () => undefined)
    }
    const broke = (error: unknown, lock: string): void => this.broke(error, lock)
    const history = journal.historyOf(name)
    const scene = { process, history, witness, locks, register, localReentry, broke, begun: this.begun }
    return { process, wire, redis, connections, locks, callers: steps.map((each) => new Caller(scene, each)) }
  }
}
