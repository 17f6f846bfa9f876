import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { serveWorker } from '@holdfast/faults/harness'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { collectGarbage } from '../garbage.mjs'

const LEAD_IN_MS = 300
/** After somebody began or ceased to look on, in the same process. */
const TURN_LEAD_IN_MS = 50

/** A function for each flow: the lock of its next pair. */
let locks = []
let onlooker = { start() {}, stop() {} }

/** The ES module that users of a built package import. */
const entryOf = (folder) => {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, exports['.'].import.default)
}

const onlookerOf = async (way) => {
  if (way.startsWith('a listener')) {
    const { LOCK_CHANNELS } = await import('@holdfast/core')
    const listener = () => undefined
    const onEach = (doIt) => () => Object.values(LOCK_CHANNELS).forEach((name) => doIt(name, listener))
    return { start: onEach(subscribe), stop: onEach(unsubscribe) }
  }
  if (!way.startsWith('metrics')) return onlooker
  const { HoldfastInstrumentation } = await import('@holdfast/otel')
  const metrics = way.split(' ')[1]
  const instrumentation = new HoldfastInstrumentation({ metrics })
  const metricProducers = metrics === 'producer' ? [instrumentation] : []
  const reader = new PrometheusExporter({ preventServerStart: true, metricProducers })
  instrumentation.setMeterProvider(new MeterProvider({ readers: [reader] }))
  return { start: () => instrumentation.enable(), stop: () => instrumentation.disable() }
}

const runFor = async (ms) => {
  const endsAt = performance.now() + ms
  let pairs = 0
  await Promise.all(
    locks.map(async (nextLock) => {
      do {
        const lock = nextLock()
        const hold = await lock.lock()
        if ((await hold.release()) !== 'released') throw new Error(`${lock.name} was lost`)
        pairs += 1
      } while (performance.now() < endsAt)
    }),
  )
  return pairs
}

const measure = async (leadInMs, ms) => {
  await runFor(leadInMs)
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const pairs = await runFor(ms)
  const elapsedMs = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpuBefore)
  return { pairsPerSecond: (pairs * 1000) / elapsedMs, clientMicros: (user + system) / pairs }
}

serveWorker({
  async begin({ name, way, url, flows, before, newNames }) {
    const earlier = () => import(pathToFileURL(entryOf(`${before}/packages/core`)).href)
    const { LockClient } = way === 'before' ? await earlier() : await import('@holdfast/core')
    onlooker = await onlookerOf(way)
    const client = await LockClient.connect(url, { bareCalls: 'allow' })
    let made = 0
    locks = Array.from({ length: flows }, (_, i) => {
      const lock = client.getLock(`overhead:${name}:${i}`)
      return newNames ? () => client.getLock(`overhead:${name}:${i}:${(made += 1)}`) : () => lock
    })
  },

  lookOn: () => onlooker.start(),

  measure(ms) {
    collectGarbage()
    return measure(LEAD_IN_MS, ms)
  },

  /** Looked on, and not. @param {{ ms: number, lookedOnFirst: boolean }} turn */
  async measureBoth({ ms, lookedOnFirst }) {
    const samples = {}
    for (const isLookedOn of [lookedOnFirst, !lookedOnFirst]) {
      if (isLookedOn) onlooker.start()
      samples[isLookedOn ? 'lookedOn' : 'alone'] = await measure(TURN_LEAD_IN_MS, ms)
      if (isLookedOn) onlooker.stop()
    }
    return samples
  },
})
