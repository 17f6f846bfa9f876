import { InvalidArgumentError } from '@holdfast/core'
import { checkOptions, type KnownKeys } from '@holdfast/core/siblings'
import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import { lockNameTemplate } from './lock-name-template.js'

/**
 * How a lock's name is exported. `template`: its `lockNameTemplate`; `raw`: the name itself, for services with few
 * locks whose names are not confidential; `omit`: not at all; or a function of the name.
 */
export type LockNaming = 'template' | 'raw' | 'omit' | ((lockName: string) => string)

/** Options of what is measured, and how it is exported. */
export interface InstrumentationOptions {
  /** Default 'template'. */
  lockName?: LockNaming | undefined
  /** Maximum number of names; further ones count as `other`. Default 300. Larger: more series, more memory. */
  maxLockNames?: number | undefined
  /**
   * Default 'api': through a meter, with any SDK and readers. 'producer': counted here, which costs less, and fetched
   * by `collect()`; pass the instrumentation as one of the `metricProducers` of a reader of the SDK.
   */
  metrics?: 'api' | 'producer' | undefined
  /** Default 'all': of waits and of holds. 'waits': fewer spans, none for locks acquired without a wait. */
  spans?: 'all' | 'waits' | 'off' | undefined
  /** Minimum duration of a wait that gets a span, ms. Default 0: each call that had to wait gets one. */
  waitSpanAfterMs?: number | undefined
  /** Default: the global provider at the time of construction. */
  meterProvider?: MeterProvider | undefined
  /** Default: the global provider. */
  tracerProvider?: TracerProvider | undefined
}

export interface ResolvedOptions {
  /** Undefined: names are left out. */
  readonly nameOf: ((lockName: string) => string) | undefined
  readonly maxLockNames: number
  readonly metrics: 'api' | 'producer'
  readonly spans: 'all' | 'waits' | 'off'
  readonly waitSpanAfterMs: number
}

const INSTRUMENTATION_OPTIONS: KnownKeys<InstrumentationOptions> = {
  lockName: true,
  maxLockNames: true,
  metrics: true,
  spans: true,
  waitSpanAfterMs: true,
  meterProvider: true,
  tracerProvider: true,
}
const METRICS = ['api', 'producer']
const SPANS = ['all', 'waits', 'off']

/** @throws InvalidArgumentError naming the option and what was given */
export function resolveOptions(options: InstrumentationOptions): ResolvedOptions {
  checkOptions('options', options, INSTRUMENTATION_OPTIONS)
  const { lockName = 'template', maxLockNames = 300, metrics = 'api' } = options
  const { spans = 'all', waitSpanAfterMs = 0 } = options
  if (!(Number.isInteger(maxLockNames) && maxLockNames > 0)) {
    throw new InvalidArgumentError('maxLockNames', maxLockNames, 'a whole number above 0')
  }
  if (!METRICS.includes(metrics)) {
    throw new InvalidArgumentError('metrics', metrics, `one of ${METRICS.join(', ')}`)
  }
  if (!SPANS.includes(spans)) {
    throw new InvalidArgumentError('spans', spans, `one of ${SPANS.join(', ')}`)
  }
  if (!(Number.isFinite(waitSpanAfterMs) && waitSpanAfterMs >= 0)) {
    throw new InvalidArgumentError('waitSpanAfterMs', waitSpanAfterMs, 'a number that is not negative, ms')
  }
  return { nameOf: namingOf(lockName), maxLockNames, metrics, spans, waitSpanAfterMs }
}

function namingOf(naming: LockNaming): ((lockName: string) => string) | undefined {
  if (typeof naming === 'function') {
    return naming
  }
  const known = { template: lockNameTemplate, raw: (name: string) => name, omit: undefined }
  if (!Object.hasOwn(known, naming)) {
    throw new InvalidArgumentError('lockName', naming, "'template', 'raw', 'omit' or a function")
  }
  return known[naming]
}
