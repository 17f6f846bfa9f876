import { trace, type Tracer, type TracerProvider } from '@opentelemetry/api'

/** The global provider: it stands for the one that an SDK registers. */
interface Proxied {
  getDelegateTracer(name: string): Tracer | undefined
}

/**
 * The tracer, as soon as there is one. While no SDK is registered there is none, and no span is begun: even spans that
 * record nothing would cost more than all metrics.
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
