import { subscribe } from 'node:diagnostics_channel'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { serveWorker } from '@holdfast/testing'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'

const LEAD_IN_MS = 300

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')
let locks = []

const lookOn = async (way) => {
  const { LOCK_CHANNELS } = await import('@holdfast/core')
  if (way.startsWith('a listener')) {
    for (const channel of Object.values(LOCK_CHANNELS)) subscribe(channel, () => undefined)
  }
  if (!way.startsWith('metrics')) return
  const { HoldfastInstrumentation } = await import('@holdfast/otel')
  const metrics = way.split(' ')[1]
  const instrumentation = new HoldfastInstrumentation({ metrics })
  const metricProducers = metrics === 'producer' ? [instrumentation] : []
  const reader = new PrometheusExporter({ preventServerStart: true, metricProducers })
  instrumentation.setMeterProvider(new MeterProvider({ readers: [reader] }))
  instrumentation.enable()
}

const runFor = async (ms) => {
  const endsAt = performance.now() + ms
  let pairs = 0
  await Promise.all(
    locks.map(async (lock) => {
      do {
        const hold = await lock.lock()
        if ((await hold.release()) !== 'released') throw new Error(`${lock.name} was lost`)
        pairs += 1
      } while (performance.now() < endsAt)
    }),
  )
  return pairs
}

serveWorker({
  async begin({ way, url, flows, before }) {
    const earlier = () => import(pathToFileURL(`${before}/packages/core/dist/esm/index.js`).href)
    const { LockClient } = way === 'before' ? await earlier() : await import('@holdfast/core')
    if (way !== 'before') await lookOn(way)
    const client = await LockClient.connect(url, { bareCalls: 'allow' })
    locks = Array.from({ length: flows }, (_, i) => client.getLock(`overhead:${way}:${i}`))
  },

  async measure(ms) {
    collectGarbage()
    await runFor(LEAD_IN_MS)
    const cpuBefore = process.cpuUsage()
    const startedAt = performance.now()
    const pairs = await runFor(ms)
    const elapsedMs = performance.now() - startedAt
    const { user, system } = process.cpuUsage(cpuBefore)
    return { pairsPerSecond: (pairs * 1000) / elapsedMs, clientMicros: (user + system) / pairs }
  },
})
