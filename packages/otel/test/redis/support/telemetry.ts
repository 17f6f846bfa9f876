import { context, trace, type Context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider, type MetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { HoldfastInstrumentation, type InstrumentationOptions } from '../../../src/index.js'

/** A real SDK around an instrumentation. */
export class Telemetry {
  readonly instrumentation: HoldfastInstrumentation
  readonly spans = new InMemorySpanExporter()
  readonly tracers: BasicTracerProvider
  private readonly reader: MetricReader
  private readonly meters: MeterProvider

  constructor(options: InstrumentationOptions = {}) {
    this.tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.spans)] })
    this.instrumentation = new HoldfastInstrumentation({ tracerProvider: this.tracers, ...options })
    const metricProducers = options.metrics === 'producer' ? [this.instrumentation] : []
    this.reader = new PrometheusExporter({ preventServerStart: true, metricProducers })
    this.meters = new MeterProvider({ readers: [this.reader] })
    this.instrumentation.setMeterProvider(this.meters)
    this.instrumentation.enable()
  }

  /** The text that Prometheus would scrape. */
  async text(): Promise<string> {
    const { resourceMetrics, errors } = await this.reader.collect()
    if (errors.length > 0) {
      throw errors[0]
    }
    return new PrometheusSerializer().serialize(resourceMetrics)
  }

  /** The sum of all series of a metric that have these labels. */
  async sum(metric: string, labels: Record<string, string> = {}): Promise<number> {
    return sumOf(await this.text(), metric, labels)
  }

  async stop(): Promise<void> {
    this.instrumentation.disable()
    await this.meters.shutdown()
    await this.tracers.shutdown()
  }
}

/** `labels` by their names in OpenTelemetry without `holdfast.lock.`, such as `kind`. */
export function sumOf(text: string, metric: string, labels: Record<string, string>): number {
  const wanted = Object.entries(labels).map(([name, value]) => `holdfast_lock_${name}="${value}"`)
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) && wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(/\} (\S+)/.exec(line)![1]), 0)
}

/** Contexts follow promises, as with any SDK. Returns what ends that. */
export function keepContexts(): () => void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  return () => context.disable()
}

/** Runs inside a span. */
export async function inSpan<T>(telemetry: Telemetry, name: string, work: () => Promise<T>): Promise<T> {
  const span = telemetry.tracers.getTracer('test').startSpan(name)
  const inside: Context = trace.setSpan(context.active(), span)
  try {
    return await context.with(inside, work)
  } finally {
    span.end()
  }
}
