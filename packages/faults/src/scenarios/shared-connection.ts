// Applications that share their connection with a LockClient and run transactions on it, by hand too: whatever anybody
// sends then is answered QUEUED, and runs at the EXEC or never.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { HistoryEvent } from '@holdfast/faults/harness'
import { openHistory, readHistories, runnerFile, type History } from '../run/history-file.js'
import { firstOf, judge } from '../run/judge.js'
import { count, minutes, ms, someOf } from '../run/options.js'
import { seededRandom } from '../run/random.js'
import { defineScenario, type Roles } from '../run/scenario.js'
import { leftBehind } from '../workload/left-behind.js'
import { kindOf, LOCK_KINDS, lockNames, tokensOf } from '../workload/lock-kinds.js'
import { Application, ENDS, type End } from './shared-connection/application.js'
import {
  CLIENT_NAMES,
  connect,
  type ClientName,
  type SharedConnection,
} from './shared-connection/connection.js'
import { checkExplained } from './shared-connection/checks.js'
import { Keeper, KEPT } from './shared-connection/keeper.js'
import { Crew, type CrewSettings } from './torture/crew.js'

const STORM = 6
// What was released in a transaction that was discarded is released again after a second; then nothing is excused.
const REPAIRED_MS = 1_500
const CALM_MS = 4_000
const LIMITS = {
  liveness: { deadlineMs: 2_500, graceMs: 2_000 },
  handOff: { limitMs: 1_000, calmMs: REPAIRED_MS },
  grantLagMs: 5_000,
  fifo: {
    maxOvertakes: 0,
    // Callers that are refused at once keep their processes busy, and calls on their way.
    slackMs: 400,
    calmMs: REPAIRED_MS,
    locks: (lock: string) => kindOf(lock) === 'fair',
  },
  lastingTokens: (lock: string) => tokensOf(lock) === 'time',
}

interface Finished {
  readonly queued: number
  readonly atOnce: number
}

export const sharedConnection = defineScenario({
  name: 'shared-connection',
  summary: 'Applications run transactions on the connection that they share with their LockClient.',
  options: {
    minutes: minutes(1, 'how long transactions go on'),
    clients: someOf(CLIENT_NAMES, 'clients, which the processes take in turns'),
    kinds: someOf(LOCK_KINDS, 'kinds of locks'),
    processes: count(4, 'worker processes', { least: 2 }),
    flows: count(8, 'callers in each process'),
    locks: count(8, 'locks they all want'),
    lease: ms(3_000, 'how long a lock lasts without renewal', { least: 300 }),
    resync: ms(300, 'how often a waiter asks without being woken', { least: 1 }),
  },
  smoke: '--minutes 0.2 --processes 2',
  long: '--minutes 20',
  heading: ({ minutes: long, clients, processes }) =>
    `${long} min, ${processes} processes, ${clients.join(', ')}`,

  async run(run) {
    const { options, fleet, history, random, seed, interrupted } = run
    const { lease: leaseMs, resync: resyncMs, flows } = options
    const redis = await run.redis()
    const register = await run.redis()
    const locks = lockNames(options.locks, options.kinds)
    for (let i = 0; i < options.processes; i += 1) {
      const client = options.clients[i % options.clients.length]
      const ports = { port: redis.port, registerPort: register.port }
      await fleet.launch({ ...ports, client, leaseMs, resyncMs, flows, locks, seed: seed * 1_000 + i })
    }

    const endsAt = performance.now() + options.minutes * 60_000
    const done = new Map<End, number>(ENDS.map((end) => [end, 0]))
    while (performance.now() < endsAt) {
      for (let i = 0; i < STORM && performance.now() < endsAt; i += 1) {
        interrupted.throwIfAborted()
        const [worker, end] = [random.pick(fleet.workers), random.pick(ENDS)]
        const forMs = random.between(1, random.chance(0.3) ? 1.5 * leaseMs : leaseMs / 3)
        const name = `transaction of ${worker.name}`
        history.add('fault', { name, class: 'disturbance', target: worker.name })
        await run.unlessInterrupted(worker.process.call('transact', end, forMs))
        history.add('healed', { name })
        done.set(end, (done.get(end) ?? 0) + 1)
        await sleep(random.between(0, 600))
      }
      await sleep(REPAIRED_MS + random.between(0, CALM_MS))
      run.progress([...done].map(([end, times]) => `${times} ${end}`).join(', '))
    }
    await sleep(REPAIRED_MS)
    const finished = await fleet.callAll<Finished>('finish')
    history.add('end', await leftBehind(redis, leaseMs))
    const sum = (of: keyof Finished): number => finished.reduce((all, each) => all + each[of], 0)
    const verdict = judge(run, LIMITS, (events) => [
      `transactions by hand: ${[...done].map(([end, times]) => `${times} ${end}`).join(', ')}; ` +
        `at once: ${sum('atOnce')}`,
      `${sum('queued')} answers QUEUED to Holdfast; ${lossesIn(events)}`,
    ])
    const proof =
      sum('queued') > 0 ? [] : ['Holdfast sent nothing in a transaction: this run proves nothing.']
    const unexplained = checkExplained(readHistories([...fleet.files, runnerFile(run)]), leaseMs)
    return { ...verdict, violations: [...verdict.violations, ...firstOf(unexplained), ...proof] }
  },

  worker(): Roles {
    let history: History
    let connection: SharedConnection
    let rival: Redis
    let application: Application
    let crew: Crew
    let keeper: Keeper
    let queued = 0
    return {
      async begin(wanted: Begin) {
        const { name, file, port, leaseMs } = wanted
        history = openHistory(file, name)
        connection = await connect(wanted.client, port, {
          ...{ clientName: name, bareCalls: 'allow', resyncInterval: wanted.resyncMs },
          ...{ lockWatchdogTimeout: leaseMs, unavailableTimeoutMs: 2_000 },
        })
        const { locks } = connection
        for (const event of ['lost', 'release-failed', 'renewal-failed'] as const)
          locks.on(event, () => undefined)
        locks.on('unexpected-reply', ({ reply }) => (queued += Number(reply.includes('QUEUED'))))
        rival = new Redis({ host: '127.0.0.1', port, disconnectTimeout: 50 })
        application = new Application({ connection, rival, random: seededRandom(wanted.seed), name })
        crew = new Crew({ locks, history }, wanted)
        keeper = new Keeper(locks.getLock(`${KEPT}${name}`), history)
      },
      transact: (end: End, forMs: number) => application.byHand(end, forMs),
      async finish(): Promise<Finished> {
        await Promise.all([crew.finish(), keeper.finish()])
        await application.finish()
        await connection.locks.close()
        await connection.end()
        const ended = once(rival, 'end')
        rival.disconnect()
        await Promise.all([ended, crew.close()])
        await sleep(100)
        const timers = process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
        history.add('end', { keys: [], channels: [], timers })
        history.close()
        return { queued, atOnce: application.atOnce }
      },
    }
  },
})

interface Begin extends CrewSettings {
  readonly file: string
  readonly port: number
  readonly client: ClientName
  readonly resyncMs: number
}

const lossesIn = (events: readonly HistoryEvent[]): string => {
  const reasons = new Map<string, number>()
  for (const event of events)
    if (event.kind === 'lost') reasons.set(event.reason, (reasons.get(event.reason) ?? 0) + 1)
  return `lost: ${[...reasons].map(([reason, times]) => `${times} ${reason}`).join(', ') || 'none'}`
}
