// Locks that are handed over from process to process, while processes are killed, requests and replies get lost, and
// copies arrive late: at most one believes that it has the lock, and nobody leaves it behind.
import { Porter } from './travelling-holds/porter.js'
import { lanesOf } from './travelling-holds/lanes.js'
import { Figures, Journey } from './travelling-holds/journey.js'
import { Mishaps } from './travelling-holds/mishaps.js'
import type { Worker } from '../run/fleet.js'
import { firstOf, judge } from '../run/judge.js'
import { count, ms } from '../run/options.js'
import { defineScenario, type Roles } from '../run/scenario.js'
import { ObservedClient } from '../workload/observed-client.js'

const PROGRESS_EVERY = 1_000
const MISHAP_SHARE = 0.25
/** Of the steps: some die in each of them. */
const KILL_SHARE = 0.003

export const travellingHolds = defineScenario({
  name: 'travelling-holds',
  summary: 'Locks that are handed over between processes that die and wires that break.',
  options: {
    adoptions: count(10_000, 'of locks that were handed over'),
    processes: count(4, 'worker processes', { least: 2 }),
    lanes: count(12, 'locks, a third of them fair and a third fenced'),
    lease: ms(3_000, 'of each hold', { least: 500 }),
  },
  smoke: '--adoptions 150 --processes 3 --lanes 6 --lease 1500',
  long: '',
  heading: ({ adoptions, processes, lanes }) =>
    `${adoptions} adoptions of ${lanes} locks by ${processes} processes`,

  async run(run) {
    const { options, fleet, random, history, interrupted, progress } = run
    const redis = await run.redis()
    const launch = (): Promise<Worker> => fleet.launch({ leaseMs: options.lease }, { through: redis })
    for (let i = 0; i < options.processes; i += 1) await launch()
    const replace = async (worker: Worker): Promise<void> => {
      await launch()
      await worker.process.kill()
      history.add('killed', { process: worker.name })
      await fleet.kill(worker)
    }
    const figures = new Figures()
    const mishaps = new Mishaps(random, MISHAP_SHARE)
    const road = {
      ...{ fleet, redis, random, mishaps, kill: replace, killShare: KILL_SHARE },
      // A lease of a process that was killed, and retries of one that gives back.
      patienceMs: options.lease + 12_000,
    }
    let toldAt = 0
    const onward = async (lane: ReturnType<typeof lanesOf>[number]): Promise<void> => {
      while (figures.adoptions < options.adoptions && figures.violations.length === 0) {
        interrupted.throwIfAborted()
        await new Journey(road, lane, figures).run()
        if (figures.adoptions >= toldAt + PROGRESS_EVERY) {
          toldAt = figures.adoptions
          progress(`${toldAt} adoptions`)
        }
      }
    }
    await Promise.all(lanesOf(options.lanes).map(onward))
    await fleet.callAll('finish')
    const verdict = judge(run, { grantLagMs: 0 }, () => [
      `${figures.handOvers} hand-overs, ${figures.adoptions} adoptions, ${figures.late} deliveries that came too late, ` +
        `${figures.revoked} revoked, ${figures.lostJobs} jobs lost, ${figures.unknown} hand-overs without an answer`,
      `${figures.kills} processes killed, ${mishaps.cutOffs} times one cut off from Redis; ${figures.rivals} times somebody else had a lock between two journeys`,
      ...mishaps.toTable(),
    ])
    return {
      ...verdict,
      figures: { ...figures.toJSON(), history: verdict.figures },
      violations: firstOf([...figures.violations, ...verdict.violations]),
    }
  },

  worker(): Roles {
    let client: ObservedClient
    let porter: Porter
    return {
      begin({ leaseMs, ...wanted }: { name: string; file: string; port: number; leaseMs: number }) {
        client = new ObservedClient({
          ...wanted,
          client: { lockWatchdogTimeout: leaseMs, commandTimeout: 500, unavailableTimeoutMs: 2_000 },
        })
        porter = new Porter(client.locks, client.history)
      },
      take: (lock: string, ...rest: [Parameters<Porter['take']>[1], string, number]) =>
        porter.take(lock, ...rest),
      handOver: (_lock: string, attempt: string, keepMs: number) => porter.handOver(attempt, keepMs),
      adopt: (lock: string, token: string, attempt: string) => porter.adopt(lock, token, attempt),
      revoke: (_lock: string, token: string) => porter.revoke(token),
      release: (_lock: string, attempt: string) => porter.release(attempt),
      rival: (...args: Parameters<Porter['rival']>) => porter.rival(...args),
      async finish() {
        await client.redis.ping()
        await client.close()
      },
    }
  },
})
