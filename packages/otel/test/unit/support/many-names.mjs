// Takes and releases a lock of each of so many names, as core publishes it, and says what stays of that.
import { channel } from 'node:diagnostics_channel'
import { LOCK_CHANNELS } from '@holdfast/core'
import { HoldfastInstrumentation } from '@holdfast/otel'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'

const { names, kindOfName, options } = JSON.parse(process.argv[2])
const instrumentation = new HoldfastInstrumentation(options)
const metricProducers = options.metrics === 'producer' ? [instrumentation] : []
const reader = new PrometheusExporter({ preventServerStart: true, metricProducers })
instrumentation.setMeterProvider(new MeterProvider({ readers: [reader] }))
instrumentation.enable()

const word = (i) => [...String(i)].map((digit) => String.fromCharCode(97 + Number(digit))).join('')
const nameOf = kindOfName === 'id' ? (i) => `order:${i}` : word
const callEnded = channel(LOCK_CHANNELS.callEnded)
const holdBegun = channel(LOCK_CHANNELS.holdBegun)
const holdEnded = channel(LOCK_CHANNELS.holdEnded)

globalThis.gc()
const before = process.memoryUsage().heapUsed
for (let i = 0; i < names; i += 1) {
  const what = { lockName: nameOf(i), kind: 'reentrant', clientId: 'c' }
  const hold = { phase: 'begun', ...what, owner: 'c:1', serial: i + 1 }
  holdBegun.publish(hold)
  callEnded.publish({
    phase: 'ended',
    ...what,
    hasWaited: false,
    outcome: 'acquired',
    path: 'remote',
    waitedMs: 1,
  })
  holdEnded.publish(Object.assign(hold, { phase: 'ended', outcome: 'released', heldMs: 1 }))
}
globalThis.gc()
const grownMb = (process.memoryUsage().heapUsed - before) / 2 ** 20
const { resourceMetrics } = await reader.collect()
process.stdout.write(JSON.stringify({ grownMb, text: new PrometheusSerializer().serialize(resourceMetrics) }))
