// One run for all callers of a fleet, while processes are killed at twenty places, or paused beyond their leases, and
// requests, replies and copies go astray: never two trusted runs, and one result for all.
import { PLACES } from './share/places.js'
import { Process, type Wanted } from './share/process.js'
import { Figures, Round } from './share/round.js'
import type { Worker } from '../run/fleet.js'
import { firstOf } from '../run/judge.js'
import { count, ms } from '../run/options.js'
import { defineScenario, type Roles } from '../run/scenario.js'
import { ObservedClient } from '../workload/observed-client.js'

const PROGRESS_EVERY = 50

export const share = defineScenario({
  name: 'share',
  summary: 'One run for all callers of a fleet, with kills at twenty places and pauses beyond the lease.',
  options: {
    rounds: count(120, 'one key each, with a kill in two of three'),
    processes: count(4, 'worker processes', { least: 3 }),
    lease: ms(1_000, 'of each run', { least: 300 }),
  },
  smoke: '--rounds 12 --processes 3 --lease 600',
  long: '',
  heading: ({ rounds, processes }) => `${rounds} rounds of ${processes} processes`,

  async run(run) {
    const { options, fleet, random, history, interrupted, progress } = run
    const redis = await run.redis()
    const launch = (): Promise<Worker> => fleet.launch({ leaseMs: options.lease }, { through: redis })
    await Promise.all(Array.from({ length: options.processes }, launch))
    const replace = async (worker: Worker): Promise<void> => {
      history.add('killed', { process: worker.name })
      await fleet.kill(worker)
      await launch()
    }
    const figures = new Figures()
    const ground = { fleet, redis, random, leaseMs: options.lease, replace }
    for (let i = 0; i < options.rounds && figures.violations.length === 0; i += 1) {
      interrupted.throwIfAborted()
      fleet.workers.forEach(({ proxy }) => proxy?.pass())
      const place = i % 3 === 2 ? null : PLACES[(i - Math.floor(i / 3)) % PLACES.length]
      await new Round(ground, figures, String(i).padStart(5, '0'), place ?? null).run()
      if (figures.rounds % PROGRESS_EVERY === 0) progress(`${figures.rounds} rounds`)
    }
    await fleet.callAll('finish')
    const table = [...figures.places].map(([place, kills]) => `| ${place} | ${kills} |`)
    return {
      report: [
        `${figures.rounds} rounds, ${figures.runs} runs, ${figures.results} calls with a result, ${figures.unknown} whose outcome is unknown`,
        `${figures.kills} processes killed, ${figures.pauses} paused beyond their lease, ${figures.mishaps} requests or replies lost or doubled without a kill`,
        ...['| killed | rounds |', '| --- | --- |', ...table],
      ],
      figures: figures.toJSON(),
      violations: firstOf(figures.violations),
    }
  },

  worker(): Roles {
    let client: ObservedClient
    let process: Process
    return {
      begin({ leaseMs, ...wanted }: { name: string; file: string; port: number; leaseMs: number }) {
        const limits = { commandTimeout: 500, unavailableTimeoutMs: 5_000 }
        client = new ObservedClient({ ...wanted, client: { lockWatchdogTimeout: leaseMs, ...limits } })
        process = new Process(client, wanted.name)
      },
      call: (wanted: Wanted) => process.call(wanted),
      kept: (key: string) => process.kept(key),
      async finish() {
        await client.redis.ping()
        await client.close()
      },
    }
  },
})
