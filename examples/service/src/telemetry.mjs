import { instrument } from '@holdfast/otel'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'

/** Counts what all locks of the process do. */
export const startTelemetry = () => {
  const telemetry = instrument({ metrics: 'producer' })
  const exporter = new PrometheusExporter({ preventServerStart: true, metricProducers: [telemetry] })
  const meterProvider = new MeterProvider({ readers: [exporter] })
  const serializer = new PrometheusSerializer()

  return {
    /** The metrics page that Prometheus reads. */
    async text() {
      const { resourceMetrics } = await exporter.collect()
      return serializer.serialize(resourceMetrics)
    },
    async close() {
      telemetry.disable()
      await meterProvider.shutdown()
    },
  }
}
