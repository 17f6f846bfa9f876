import { metrics, type HrTime, type Meter, type MeterProvider, type TracerProvider } from '@opentelemetry/api'
import { ApiExport } from './api-export.js'
import { Listeners } from './listeners.js'
import { metricData, type MetricData } from './metric-data.js'
import { Metrics } from './metrics.js'
import { resolveOptions, type InstrumentationOptions, type ResolvedOptions } from './options.js'
import { OwnHistograms } from './own-histograms.js'
import { AllSeries } from './series.js'
import { Spans } from './spans.js'
import { TracerSource } from './tracer-source.js'
import { wallNow } from './wall-clock.js'

const NAME = '@holdfast/otel'

/** Created anew when a provider changes. */
interface Parts {
  readonly metrics: Metrics
  readonly spans: Spans
  readonly listeners: Listeners
}

/** The result of a MetricProducer; the reader's resource applies. */
export interface Collected {
  resourceMetrics: {
    // The SDK's own type.
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    resource: any
    scopeMetrics: { scope: { name: string }; metrics: MetricData[] }[]
  }
  errors: unknown[]
}

/**
 * Metrics and spans of all lock clients of the process. Has the shape of OpenTelemetry's instrumentations, so that
 * `registerInstrumentations` and `NodeSDK` accept it. Two enabled instrumentations count everything twice.
 */
export class HoldfastInstrumentation {
  readonly instrumentationName = NAME
  /** Left empty: a version in the source is wrong after the next release. */
  readonly instrumentationVersion = ''
  private readonly options: ResolvedOptions
  private readonly series: AllSeries
  private meterProvider: MeterProvider | undefined
  private tracerProvider: TracerProvider | undefined
  private parts: Parts | null = null
  private readonly times: ApiExport | OwnHistograms
  private readonly startTime = hrTime()

  /** Makes an instrumentation that is not enabled yet. @throws InvalidArgumentError */
  constructor(options: InstrumentationOptions = {}) {
    this.options = resolveOptions(options)
    this.times = this.options.metrics === 'api' ? new ApiExport() : new OwnHistograms()
    this.series = new AllSeries(this.options, this.times)
    this.meterProvider = options.meterProvider
    this.tracerProvider = options.tracerProvider
  }

  /** Starts measuring. Idempotent. */
  enable(): void {
    if (this.parts) {
      return
    }
    const { series, options, times } = this
    if (times instanceof ApiExport) {
      times.start(this.meter, series)
    }
    const tracers = new TracerSource(this.tracerProvider, NAME)
    const metrics = new Metrics(series)
    const spans = new Spans(tracers, series, options)
    const listeners = new Listeners(metrics, spans)
    this.parts = { metrics, spans, listeners }
    listeners.start()
  }

  /** Stops measuring. Counts are kept; the ends of current holds and waits are not recorded. Idempotent. */
  disable(): void {
    const { parts } = this
    if (!parts) {
      return
    }
    this.parts = null
    parts.listeners.stop()
    parts.metrics.stop()
    if (this.times instanceof ApiExport) {
      this.times.stop()
    }
    parts.spans.stop()
  }

  /**
   * Returns everything counted so far if `metrics` is 'producer', otherwise nothing: the MetricProducer interface
   * of the SDK. Never rejects.
   */
  collect(): Promise<Collected> {
    const { series, times, startTime } = this
    const isProducer = times instanceof OwnHistograms
    const found = isProducer ? metricData(series, times, { startTime, endTime: hrTime() }) : []
    const scopeMetrics = [{ scope: { name: NAME }, metrics: found }]
    return Promise.resolve({ resourceMetrics: { resource: undefined, scopeMetrics }, errors: [] })
  }

  /** Takes another meter provider, and goes on counting with it. */
  setMeterProvider(provider: MeterProvider): void {
    this.restartWith(() => (this.meterProvider = provider))
  }

  /** Takes another tracer provider, and goes on with its tracers. */
  setTracerProvider(provider: TracerProvider): void {
    this.restartWith(() => (this.tracerProvider = provider))
  }

  /** Returns whether it is enabled, for `registerInstrumentations`, which enables an instrumentation that is not. */
  getConfig(): { enabled: boolean } {
    return { enabled: this.parts !== null }
  }

  /** Does nothing: the options of the constructor cannot be changed. */
  setConfig(): void {
    // The options of the constructor cannot be changed.
  }

  private get meter(): Meter {
    return (this.meterProvider ?? metrics).getMeter(NAME)
  }

  private restartWith(change: () => unknown): void {
    const wasEnabled = this.parts !== null
    this.disable()
    change()
    if (wasEnabled) {
      this.enable()
    }
  }
}

/**
 * Starts to measure every lock client of the process. Call it when the SDK has started.
 * @returns the instrumentation, to end it with `disable()`
 * @throws InvalidArgumentError
 */
export function instrument(options: InstrumentationOptions = {}): HoldfastInstrumentation {
  const instrumentation = new HoldfastInstrumentation(options)
  instrumentation.enable()
  return instrumentation
}

function hrTime(): HrTime {
  const ms = wallNow()
  return [Math.trunc(ms / 1000), (ms % 1000) * 1_000_000]
}
