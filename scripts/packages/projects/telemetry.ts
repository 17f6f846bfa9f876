import { LockClient } from '@holdfast/core'
import { HoldfastInstrumentation, instrument } from '@holdfast/otel'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'

// One lock and its metric, in an empty project; as a metric producer, too, whose type is the SDK's.

async function main(url: string): Promise<void> {
  const producer = new HoldfastInstrumentation({ metrics: 'producer' })
  const reader = new PrometheusExporter({ preventServerStart: true, metricProducers: [producer] })
  const telemetry = instrument({ meterProvider: new MeterProvider({ readers: [reader] }) })
  const locks = await LockClient.connect(url)
  await locks.getLock('order:42').withLock(() => undefined)
  await locks.close()
  const { resourceMetrics } = await reader.collect()
  const text = new PrometheusSerializer().serialize(resourceMetrics)
  telemetry.disable()
  const [, name, count] =
    /^holdfast_lock_acquisitions_total\{.*holdfast_lock_name="([^"]+)".*\} (\d+)/m.exec(text) ?? []
  console.log(`${name} was locked ${count === '1' ? 'once' : `${count} times`}`)
}

void main(process.env['REDIS_URL'] ?? 'redis://localhost:6379')
