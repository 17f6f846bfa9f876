// A service that measures its locks: for Prometheus on :9464/metrics with --serve, else for some seconds, on the terminal.
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { instrument } from '@holdfast/otel'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'

const isServing = process.argv.includes('--serve')
const redisUrl = process.env.REDIS_URL ?? 'redis://localhost:6379'

const telemetry = instrument({ metrics: 'producer' })
const exporter = new PrometheusExporter({
  ...{ port: 9464, preventServerStart: !isServing },
  metricProducers: [telemetry],
})
const meterProvider = new MeterProvider({ readers: [exporter] })

// Short leases, so that a few seconds show renewals. Two clients are two services for Redis.
const options = { lockWatchdogTimeout: 1_500 }
const clients = await Promise.all(['orders', 'stock'].map((name) => connect(name)))
let isOver = false
const endsAt = performance.now() + 4_000
process.once('SIGTERM', () => (isOver = true))
process.once('SIGINT', () => (isOver = true))

function connect(name) {
  return LockClient.connect(redisUrl, { ...options, clientName: `telemetry-${name}` })
}

// What a request ends with that is to be expected: somebody else has the lock, lost it, or nobody answered in time.
const EXPECTED = ['LOCK_TIMEOUT', 'LOCK_LOST', 'REDIS_UNAVAILABLE']

/** One request after another: ten orders that all want, and now and then one that takes long. */
async function requests(locks) {
  while (!isOver && (isServing || performance.now() < endsAt)) {
    const id = Math.floor(Math.random() * 10)
    const workMs = Math.random() < 0.02 ? 1_200 : Math.random() * 20
    await locks
      .getLock(`telemetry:order:${id}`)
      .withLock(() => sleep(workMs), { waitMs: 250 })
      .catch((error) => {
        if (!EXPECTED.includes(error.code)) throw error
      })
  }
}

/** Somebody frees a lock by force: its holder loses it. */
async function accident(locks) {
  locks.on('lost', () => undefined)
  await locks
    .getLock('telemetry:report:2026-11-21')
    .withLock(async (hold) => {
      await clients[0].getLock('telemetry:report:2026-11-21').forceUnlock()
      while (!hold.isLost) await sleep(5)
    })
    .catch(() => undefined)
}

await accident(clients[1])
await Promise.all(clients.flatMap((locks) => Array.from({ length: 8 }, () => requests(locks))))
if (!isServing) {
  const { resourceMetrics } = await exporter.collect()
  const lines = new PrometheusSerializer().serialize(resourceMetrics).split('\n')
  console.log(
    lines.filter((line) => /^(# HELP )?holdfast_/.test(line) && !line.includes('_bucket')).join('\n'),
  )
}
telemetry.disable()
await Promise.all(clients.map((locks) => locks.close()))
await meterProvider.shutdown()
