// Callers of several processes, with kills, losses and broken wires: what they counted themselves, and what the metrics
// say of the same moment. docs/telemetry.md has the figures.
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastInstrumentation } from '@holdfast/otel'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import type { Worker } from '../run/fleet.js'
import { firstOf } from '../run/judge.js'
import { count, minutes, ms, someOf } from '../run/options.js'
import { seededRandom } from '../run/random.js'
import { defineScenario, type Roles } from '../run/scenario.js'
import { table } from '../run/table.js'
import { FAULT_NAMES, happen } from '../workload/faults.js'
import { LOCK_KINDS, lockNames } from '../workload/lock-kinds.js'
import { ObservedClient } from '../workload/observed-client.js'
import { victimOf } from '../workload/victim.js'
import { Caller, POOL, SEATS } from './telemetry/caller.js'
import { differences, exported, type Counted, type Exported } from './telemetry/exported.js'
import { sum, Tally, type Counts } from './telemetry/tally.js'

const LOCKS = 12
const PERMITS = 3
// A restart without data takes the permits along, which nobody sets again here.
const FAULTS = FAULT_NAMES.filter((name) => name !== 'redis-restarts-empty')

/** One process at one moment. */
interface Look {
  readonly name: string
  readonly counted: Counted
  readonly metrics: Exported
  readonly problems: readonly string[]
}

export const telemetry = defineScenario({
  name: 'telemetry',
  summary: 'Metrics of every process beside what its callers counted, at any moment.',
  options: {
    minutes: minutes(0.5, 'how long faults go on'),
    faults: someOf(FAULTS, 'faults'),
    processes: count(4, 'worker processes', { least: 2 }),
    callers: count(10, 'callers in each process'),
    lease: ms(900, 'of renewal', { least: 300 }),
    resync: ms(300, 'how often a waiter asks without being woken', { least: 1 }),
  },
  smoke: '--minutes 0.1',
  long: '--minutes 5',
  heading: ({ minutes: long, processes, callers }) =>
    `${long} min, ${processes} processes with ${callers} callers each`,

  async run(run) {
    const { options, fleet, random, interrupted } = run
    const redis = await run.redis()
    const locks = lockNames(LOCKS, LOCK_KINDS)
    const victim = await victimOf(run, {
      ...{ redis, register: redis, leaseMs: options.lease, locks: () => locks },
      settings: () => ({ resyncMs: options.resync, callers: options.callers }),
    })
    await victim.observer.getSemaphore(POOL).trySetPermits(PERMITS)
    await victim.observer.getPermitExpirableSemaphore(SEATS).trySetPermits(PERMITS)
    for (let i = 0; i < options.processes; i += 1) await victim.launch()

    const looks: Look[] = []
    let [faults, killed] = [0, 0]
    const look = async ({ name, process }: Worker, atRest = false): Promise<void> => {
      const { counted, text } = (await process.call('look')) as { counted: Counted; text: string }
      const metrics = exported(text)
      looks.push({ name, counted, metrics, problems: differences(counted, metrics, atRest) })
    }
    const replace = async (worker: Worker): Promise<void> => {
      await look(worker)
      killed += 1
      await victim.replace(worker)
    }
    const endsAt = performance.now() + options.minutes * 60_000
    while (performance.now() < endsAt) {
      interrupted.throwIfAborted()
      await happen(random.pick(options.faults), { ...victim, replace })
      faults += 1
      await sleep(random.between(0, 300))
      // In the middle of everything: what is counted and what is exported are of one moment at any moment.
      for (const worker of fleet.workers) await look(worker)
    }
    await fleet.callAll('rest')
    for (const worker of fleet.workers) await look(worker, true)
    await fleet.callAll('finish')
    return verdictOf(looks, { faults, killed })
  },

  worker(): Roles {
    const tally = new Tally()
    const failures: unknown[] = []
    let [client, reader]: [ObservedClient?, PrometheusExporter?] = []
    let callers: Caller[] = []
    let running: Promise<unknown>[] = []
    return {
      begin({ name, file, port, leaseMs, resyncMs, locks: names, callers: wanted, seed }: Begin) {
        // Both ways to export take part.
        reader = measured(seed % 2 === 0 ? 'producer' : 'api')
        const limits = { commandTimeout: 400, unavailableTimeoutMs: 2_000 }
        client = new ObservedClient({
          ...{ name, file, port },
          client: { lockWatchdogTimeout: leaseMs, resyncInterval: resyncMs, ...limits },
        })
        const { locks } = client
        locks.on('lost', ({ error }) => tally.lost(error.reason))
        callers = Array.from({ length: wanted }, (_, i) => {
          return new Caller({ locks, names, tally, leaseMs, random: seededRandom(seed * 100 + i) })
        })
        running = callers.map((caller) => caller.run().catch((error: unknown) => failures.push(error)))
      },
      /**
       * What callers counted and what would be exported, of one moment: between what core publishes and what its caller
       * does next there are only microtasks, and none is left when a message is served.
       */
      async look() {
        const counted: Counted = structuredClone({ calls: tally.calls, losses: tally.losses })
        const collected = await reader?.collect()
        return { counted, text: collected && new PrometheusSerializer().serialize(collected.resourceMetrics) }
      },
      async rest() {
        callers.forEach((caller) => caller.stop())
        await Promise.all(running)
        if (failures.length > 0) throw failures[0]
      },
      finish: () => client?.close(),
    }
  },
})

interface Begin {
  readonly name: string
  readonly file: string
  readonly port: number
  readonly leaseMs: number
  readonly resyncMs: number
  readonly locks: readonly string[]
  readonly callers: number
  readonly seed: number
}

const measured = (metrics: 'producer' | 'api'): PrometheusExporter => {
  const instrumentation = new HoldfastInstrumentation({ metrics })
  const metricProducers = metrics === 'producer' ? [instrumentation] : []
  const reader = new PrometheusExporter({ preventServerStart: true, metricProducers })
  instrumentation.setMeterProvider(new MeterProvider({ readers: [reader] }))
  instrumentation.enable()
  return reader
}

const verdictOf = (looks: readonly Look[], { faults, killed }: { faults: number; killed: number }) => {
  // The last look at each process has all of the earlier ones in it.
  const last = [...new Map(looks.map((look) => [look.name, look])).values()]
  const total = (countOf: (look: Look) => number): number =>
    last.reduce((all, look) => all + countOf(look), 0)
  const rows = (of: (seen: Counted) => Counts, parts: Record<string, (key: string) => boolean>) =>
    Object.entries(parts).map(([what, counted]) => ({
      what,
      counted: total((look) => sum(of(look.counted), counted)),
      exported: total((look) => sum(of(look.metrics), counted)),
    }))
  const figures = [
    ...rows(({ calls }) => calls, {
      'acquired by a command': (key) => key.endsWith('acquired remote'),
      'acquired by re-entry': (key) => key.endsWith('acquired reentrant'),
      timeout: (key) => key.endsWith('timeout'),
      aborted: (key) => key.endsWith('aborted'),
      error: (key) => key.includes(' error '),
    }),
    ...rows(({ losses }) => losses, { losses: () => true }),
  ]
  const called = total(({ counted }) => sum(counted.calls))
  return {
    figures,
    report: [
      ...table([
        ['what', 'counted by callers', 'exported'],
        ...figures.map(({ what, ...counts }) => [what, String(counts.counted), String(counts.exported)]),
      ]),
      '',
      `${looks.length} looks at ${last.length} processes, ${killed} of which were killed; ${faults} faults; ` +
        `${total(({ metrics }) => metrics.paths.passed ?? 0)} passed on, ` +
        `${total(({ metrics }) => metrics.paths.granted ?? 0)} granted, ` +
        `${total(({ metrics }) => metrics.renewals)} renewals, ${total(({ metrics }) => metrics.waits)} waits, ` +
        `${total(({ metrics }) => metrics.handOffs)} hand-offs, ${total(({ metrics }) => metrics.holds)} holds`,
    ],
    violations: [
      ...firstOf(looks.flatMap(({ name, problems }) => problems.map((each) => `${name}: ${each}`))),
      ...(called > 0 ? [] : ['no caller has called for a lock: this run proves nothing']),
    ],
  }
}
