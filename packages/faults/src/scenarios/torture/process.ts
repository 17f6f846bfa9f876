import type { LockClientOptions } from '@holdfast/core'
import { seededRandom, type SeededRandom } from '../../harness/seeded-random.js'
import type { Roles } from '../../run/scenario.js'
import { Crew } from '../../workload/crew.js'
import { ObservedClient } from '../../workload/observed-client.js'
import { Register } from '../../workload/register.js'
import { Candidate } from './elections.js'
import { Porter } from './journeys.js'
import { LockCaller } from './locks.js'
import type { TortureValues } from './options.js'
import { Holder, type Holding } from './permits/at-rest.js'
import { PermitCaller } from './permits/caller.js'
import { useLatch } from './permits/latches.js'
import { Sharer } from './shares.js'
import { type CallerParts, type Kind } from './workload.js'

const SLOW_EVERY_MS = 100
const SLOW_FOR_MS = 20
/** Callers of one kind in each process, where there are fewer than of locks. */
const PORTERS = 3
const SHARERS = 2
/** They take part in two elections. */
const CANDIDATES = 2

export interface Begin {
  readonly name: string
  readonly file: string
  readonly port: number
  readonly registerPort: number
  readonly locks: readonly string[]
  readonly seed: number
  readonly options: TortureValues
  readonly isForPermits?: boolean
}

/** Every third process is slow: every so often nothing of it runs, for a moment, as on a machine with too much to do. */
const slow = (seed: number): NodeJS.Timeout | undefined => {
  if (seed % 3 !== 1) return undefined
  const nothing = new Int32Array(new SharedArrayBuffer(4))
  return setInterval(() => Atomics.wait(nothing, 0, 0, SLOW_FOR_MS), SLOW_EVERY_MS)
}

const clientOf = async ({
  name,
  file,
  port,
  seed,
  options,
  isForPermits,
}: Begin): Promise<ObservedClient> => {
  const client: LockClientOptions = {
    lockWatchdogTimeout: options.lease,
    commandTimeout: 400,
    unavailableTimeoutMs: 2_000,
    resyncInterval: options.resync,
    interop: options.interop,
    ...(options.someReleaseEarly && seed % 2 === 1 ? { releaseWaitMs: 0 } : {}),
    describeHolds: options.notes && seed % 2 === 0,
  }
  const redis = {
    enableAutoPipelining: options.someAutoPipelining && seed % 2 === 1,
    ...(isForPermits ? { retryStrategy: () => 30, maxLoadingRetryTime: 50 } : {}),
  }
  const { Redis } = (await import(options.client)) as typeof import('ioredis')
  return new ObservedClient({ name, file, port, client, redis, Carrier: Redis })
}

/** The step that each caller of a process repeats. */
const stepsOf = (
  { options, locks: names, seed, name }: Begin,
  client: ObservedClient,
  register: Register,
): (() => Promise<unknown>)[] => {
  const isWanted = (kind: Kind): boolean => options.kinds.includes(kind)
  const make = <C extends { step(): Promise<unknown> }>(
    kind: string,
    callers: number,
    Caller: new (parts: CallerParts) => C,
  ): C[] =>
    Array.from({ length: callers }, (_, i) => {
      const random = seededRandom(seed * 100 + i)
      const { locks, history } = client
      return new Caller({
        ...{ name: `${name}/${kind}${i}`, locks, history, register, random, leaseMs: options.lease, names },
      })
    })
  const callers = [
    ...(names.length > 0 ? make('', options.flows, LockCaller) : []),
    ...(isWanted('election') ? make('candidate', CANDIDATES, Candidate) : []),
    ...(isWanted('share') ? make('sharer', SHARERS, Sharer) : []),
    ...(isWanted('journey') ? make('porter', PORTERS, Porter) : []),
  ]
  return callers.map((caller) => () => caller.step())
}

/** One process of the torture, with callers of every kind that is wanted. */
export const tortured = (): Roles => {
  let [wanted, client, crew, register, holder, slowness, random]: [
    Begin?,
    ObservedClient?,
    Crew?,
    Register?,
    Holder?,
    NodeJS.Timeout?,
    SeededRandom?,
  ] = []
  let rounds = 0
  /** All callers of permits end, and begin again with other names. */
  const round = async (names: readonly string[]): Promise<void> => {
    await crew?.finish()
    if (!wanted || !client || !register || names.length === 0) return
    const { seed, name, options } = wanted
    const { locks, history } = client
    rounds += 1
    const common = { locks, history, register, names, leaseMs: options.lease, permits: options.permits }
    const callers = Array.from({ length: options.flows }, (_, i) => {
      const own = seededRandom(seed * 100 + i)
      return new PermitCaller({ ...common, random: own, name: `${name}/${i}/${rounds}` })
    })
    crew = new Crew(callers.map((caller) => () => caller.step()))
  }
  return {
    async begin(begin: Begin) {
      wanted = begin
      const { name, seed, registerPort } = begin
      client = await clientOf(begin)
      slowness = slow(seed)
      random = seededRandom(seed)
      register = new Register(registerPort)
      const { history, redis } = client
      if (begin.isForPermits) {
        holder = new Holder(client.locks, history, name)
        return round(begin.locks)
      }
      // Calls that are made before it is connected reach Redis later than those of others.
      history.add('fault', { name: `${name} starts`, class: 'disturbance', target: name })
      redis.once('ready', () => history.add('healed', { name: `${name} starts` }))
      crew = new Crew(stepsOf(begin, client, register))
    },
    round,
    rest: () => crew?.finish(),
    latch: (latch: string) =>
      client && random && useLatch(client.locks.getCountDownLatch(latch), client.history, random),
    hold: (what: Holding) => holder?.hold(what),
    release: () => holder?.release(),
    async finish() {
      await crew?.finish()
      clearInterval(slowness)
      await client?.close(register ? [register] : [])
    },
  }
}
