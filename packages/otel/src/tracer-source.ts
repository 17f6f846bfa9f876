import { trace, type Tracer, type TracerProvider } from '@opentelemetry/api'

/** The global provider: a proxy for the one that an SDK registers. */
interface Proxied {
  getDelegateTracer(name: string): Tracer | undefined
}

/**
 * Provides the tracer, as soon as there is one. Until an SDK is registered there is none, and no spans are created:
 * even non-recording spans would cost more than all metrics.
 */
export class TracerSource {
  private tracer: Tracer | undefined = undefined

  constructor(
    private readonly provider: TracerProvider | undefined,
    private readonly name: string,
  ) {}

  get(): Tracer | undefined {
    this.tracer ??= this.find()
    return this.tracer
  }

  private find(): Tracer | undefined {
    const { name, provider = trace.getTracerProvider() } = this
    const proxy = provider as Partial<Proxied>
    return proxy.getDelegateTracer ? proxy.getDelegateTracer(name) : provider.getTracer(name)
  }
}
