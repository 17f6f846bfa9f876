// Tokens of one fenced lock with callers of several processes, while its Redis restarts or loses its data: they grow
// where docs/fenced-lock.md says so, and the last series shows what is lost where they do not.
import { setTimeout as sleep } from 'node:timers/promises'
import { checkHistory, formatViolation, type HistoryEvent, type RedisServer } from '@holdfast/faults/harness'
import { openHistory, readHistories } from '../run/history-file.js'
import { count } from '../run/options.js'
import { seededRandom } from '../run/random.js'
import { defineScenario, type Roles } from '../run/scenario.js'
import { Attempt, release } from '../workload/attempt.js'
import { ObservedClient, shared } from '../workload/observed-client.js'
import { Register } from '../workload/register.js'

const LOCK = 'guarded'
const LEASE_MS = 3_000
const RESYNC_MS = 100
/** How long a caller may wait: a copy of an acquire that arrives after a FLUSHALL takes the lock for one lease. */
const LIMIT_MS = 20_000
// Every answered write is on the disk.
const PERSISTENT = ['--appendonly', 'yes', '--appendfsync', 'always']
const LONGEST_PEACE_MS = 600
// Long enough for several losses.
const FEWEST_WHERE_LOST = 1_000
const MOST_SHOWN = 3

/** What may happen to Redis. A restart keeps the data. */
const EVENTS = {
  restart: { class: 'disturbance', happen: (redis: RedisServer) => redis.restart() },
  crash: {
    class: 'disturbance',
    happen: async (redis: RedisServer) => {
      await redis.kill()
      await redis.restart()
    },
  },
  flush: { class: 'data-loss', happen: (redis: RedisServer) => redis.command('FLUSHALL') },
} as const

interface Series {
  readonly tokens: 'counter' | 'time'
  readonly events: readonly (keyof typeof EVENTS)[]
  readonly acquisitions: number
  /** Whether tokens have to grow, or cannot. */
  readonly grows: boolean
}

const seriesOf = (acquisitions: number): Series[] => [
  { tokens: 'counter', events: ['restart', 'crash'], acquisitions, grows: true },
  { tokens: 'time', events: ['restart', 'crash', 'flush'], acquisitions, grows: true },
  {
    ...{ tokens: 'counter', events: ['flush'], grows: false },
    acquisitions: Math.max(FEWEST_WHERE_LOST, Math.ceil(acquisitions / 10)),
  },
]

export const tokens = defineScenario({
  name: 'tokens',
  summary: 'Tokens of a fenced lock while its Redis restarts or loses its data.',
  options: {
    acquisitions: count(10_000, 'of one lock, in each series; fewer where tokens are lost', { least: 100 }),
    processes: count(4, 'worker processes'),
    callers: count(4, 'callers in each process'),
  },
  smoke: '--acquisitions 400 --processes 3 --callers 3',
  long: '',

  async run(run) {
    const { options, fleet, folder, seed, interrupted } = run
    const results = []
    for (const [number, series] of seriesOf(options.acquisitions).entries()) {
      const { tokens: kind, events, acquisitions, grows } = series
      run.progress(`tokens: '${kind}', ${acquisitions} acquisitions, ${events.join(', ')}`)
      const redis = await run.redis({ args: PERSISTENT })
      const register = await run.redis()
      const file = `${folder}/series-${number}.jsonl`
      const history = openHistory(file, 'runner')
      const started = fleet.files.length
      for (let i = 0; i < options.processes; i += 1) {
        const ports = { port: redis.port, registerPort: register.port }
        await fleet.launch({ ...ports, callers: options.callers, tokens: kind })
      }
      const share = Math.ceil(acquisitions / options.processes)
      const over = new AbortController()
      const taking = fleet.callAll('take', share).finally(() => over.abort())
      // Whatever it fails with is thrown below.
      taking.catch(() => undefined)
      const random = seededRandom(seed)
      while (!over.signal.aborted) {
        interrupted.throwIfAborted()
        await sleep(random.between(0, LONGEST_PEACE_MS))
        const name = random.pick(events)
        history.add('fault', { name, class: EVENTS[name].class })
        await EVENTS[name].happen(redis)
        history.add('healed', { name })
      }
      await taking
      await fleet.callAll('finish')
      history.close()
      const seen = readHistories([...fleet.files.slice(started), file])
      await fleet.stop()
      results.push({ tokens: kind, grows, ...verdictOf(seen, grows) })
    }
    return {
      figures: results,
      report: results.map(lineOf),
      violations: results.flatMap(({ problems }) => problems),
    }
  },

  worker(): Roles {
    let client: ObservedClient
    let register: Register
    let settings: { callers: number; tokens: 'counter' | 'time' }
    let acquisitions = 0
    /** One acquisition: what it guards is written with its token. */
    const acquireOnce = async (caller: number): Promise<void> => {
      const { history, locks } = client
      const id = `${caller}#${(acquisitions += 1)}`
      const attempt = new Attempt(history, { lock: LOCK, attempt: id, deadlineMs: LIMIT_MS })
      const lock = locks.getFencedLock(LOCK, { tokens: settings.tokens })
      const hold = await lock.acquire({ waitMs: LIMIT_MS })
      const held = attempt.acquired(hold)
      try {
        const decision = await register.write(LOCK, hold.token, held.owner)
        history.add('write', { lock: LOCK, owner: held.owner, token: hold.token, ...decision })
      } finally {
        await release(history, held)
      }
    }
    return {
      begin(wanted: {
        name: string
        file: string
        port: number
        registerPort: number
        callers: number
        tokens: 'counter' | 'time'
      }) {
        settings = wanted
        client = new ObservedClient({
          ...wanted,
          // While Redis loads its data, ioredis looks again after the time that Redis estimates, up to 10 s.
          redis: { retryStrategy: () => 20, maxLoadingRetryTime: 50 },
          client: { lockWatchdogTimeout: LEASE_MS, resyncInterval: RESYNC_MS },
        })
        register = new Register(wanted.registerPort)
      },
      take: (times: number) => shared(times, settings.callers, acquireOnce),
      async finish() {
        // ioredis tells no end of a connection that it was about to open again.
        await client.redis.ping()
        await client.close([register])
      },
    }
  },
})

const LIMITS = {
  liveness: { deadlineMs: LIMIT_MS, graceMs: 0 },
  // An answer is held up by a restart of Redis.
  grantLagMs: 5_000,
  // Nothing excuses a token that does not grow: whether one may is for the series to say.
  lastingTokens: () => true,
}

const verdictOf = (events: readonly HistoryEvent[], grows: boolean) => {
  const { violations, figures } = checkHistory(events, LIMITS)
  const outOfOrder = violations.filter(({ check }) => check === 'token-order')
  const others = violations.filter(({ check }) => check !== 'token-order')
  const { sure, lost } = sureHolds(events)
  const backwards = backwardsIn(sure)
  const refused = sure.filter(({ accepted }) => !accepted).length
  const isBroken = outOfOrder.length > 0 || backwards.length > 0
  const times = (name: string): number =>
    events.filter((event) => event.kind === 'fault' && event.name === name).length
  return {
    ...{ acquisitions: figures.acquisitions, losses: lost },
    ...{ restarts: times('restart') + times('crash'), flushes: times('flush') },
    ...{ backwards: backwards.length, refused },
    problems: [
      ...others.slice(0, MOST_SHOWN).map(formatViolation),
      ...(grows ? [...backwards, ...outOfOrder.map(formatViolation)].slice(0, MOST_SHOWN) : []),
      ...(grows && refused > 0 ? [`I9 ${refused} writes of holders that had the lock were refused`] : []),
      ...(!grows && !(isBroken && refused > 0) ? ['no token was lost: this run proves nothing'] : []),
    ],
  }
}

type Write = Extract<HistoryEvent, { kind: 'write' }>

/**
 * Those who had the lock from their acquire to their release, in the order in which they had it: each wrote in
 * between, and the register counted. An owner that lost the lock may have written when another one had it.
 */
const sureHolds = (events: readonly HistoryEvent[]): { sure: Write[]; lost: number } => {
  const writes = new Map(
    events.filter((event) => event.kind === 'write').map((write) => [write.owner, write]),
  )
  const released = events.filter((event) => event.kind === 'released')
  const sure = released
    .filter(({ outcome }) => outcome === 'released')
    .flatMap(({ owner }) => writes.get(owner) ?? [])
    .sort((a, b) => (a.order ?? 0) - (b.order ?? 0))
  return { sure, lost: released.length - sure.length }
}

/** Each token that is not larger than all before it. */
const backwardsIn = (holds: readonly Write[]): string[] => {
  let highest = 0n
  return holds.flatMap(({ token, owner }) => {
    const isLarger = BigInt(token ?? 0) > highest
    if (isLarger) highest = BigInt(token ?? 0)
    return isLarger ? [] : [`I9 token ${token} of ${owner} came after ${highest}`]
  })
}

const lineOf = (result: { tokens: string; grows: boolean } & ReturnType<typeof verdictOf>): string => {
  const {
    tokens: kind,
    grows,
    acquisitions,
    losses,
    restarts,
    flushes,
    backwards,
    refused,
    problems,
  } = result
  const growth = grows ? 'grew strictly' : 'did not grow, as is to be expected'
  return [
    `tokens: '${kind}': ${acquisitions} acquisitions, ${restarts} restarts with the data, ${flushes} times FLUSHALL, ${losses} holders lost the lock by that`,
    `  ${backwards} tokens not larger than all before; a guard refused ${refused} holders that had the lock`,
    ...(problems.length === 0 ? [`  ${growth}`] : []),
  ].join('\n')
}
