import { once } from 'node:events'
import { LockClient } from '@holdfast/core'
import { HoldfastInstrumentation } from '@holdfast/otel'
import { serveWorker } from '@holdfast/faults/harness'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { Redis } from 'ioredis'
import { seededRandom } from '../torture/random.mjs'
import { Caller } from './caller.mjs'
import { Tally } from './tally.mjs'

const tally = new Tally()
const failures = []
let locks
let redis
let reader
let callers = []
let running = []

const measure = (metrics) => {
  const instrumentation = new HoldfastInstrumentation({ metrics })
  const metricProducers = metrics === 'producer' ? [instrumentation] : []
  reader = new PrometheusExporter({ preventServerStart: true, metricProducers })
  instrumentation.setMeterProvider(new MeterProvider({ readers: [reader] }))
  instrumentation.enable()
}

serveWorker({
  begin({ name, port, leaseMs, resyncMs, locks: names, flows, seed }) {
    // Both ways to export take part.
    measure(seed % 2 === 0 ? 'producer' : 'api')
    redis = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 30, disconnectTimeout: 50 })
    redis.on('error', () => undefined)
    locks = new LockClient(redis, {
      ...{ clientName: name, lockWatchdogTimeout: leaseMs, resyncInterval: resyncMs },
      ...{ commandTimeout: 400, unavailableTimeoutMs: 2_000, bareCalls: 'allow' },
    })
    tally.watch(locks)
    callers = Array.from({ length: flows }, (_, i) => {
      return new Caller({ locks, names, tally, leaseMs, random: seededRandom(seed * 100 + i) })
    })
    running = callers.map((caller) => caller.run().catch((error) => failures.push(error)))
  },

  /**
   * What callers counted and what would be exported, of one moment: between what core publishes and what its caller
   * does next there are only microtasks, and none is left when a message is served.
   */
  async look() {
    const { calls, losses, unanswered } = tally
    const counted = globalThis.structuredClone({ calls, losses, unanswered })
    const { resourceMetrics } = await reader.collect()
    return { counted, text: new PrometheusSerializer().serialize(resourceMetrics) }
  },

  /** Nothing else of this process runs meanwhile. */
  block(ms) {
    const end = performance.now() + ms
    while (performance.now() < end);
  },

  async rest() {
    callers.forEach((caller) => caller.stop())
    await Promise.all(running)
    if (failures.length > 0) throw failures[0]
  },

  async finish() {
    await locks.close()
    const ended = once(redis, 'end')
    redis.disconnect()
    await ended
  },
})
