import type { LockHolder, ObservedCall, ObservedHold } from '@holdfast/core'
import { context, SpanStatusCode, type Attributes, type Span } from '@opentelemetry/api'
import { ATTRIBUTES, errorTypeOf } from './attributes.js'
import type { ResolvedOptions } from './options.js'
import type { AllSeries } from './series.js'
import { linkTo } from './traceparent.js'
import type { TracerSource } from './tracer-source.js'
import { wallNow } from './wall-clock.js'

/**
 * Creates a span for each wait and each hold. Both are children of the span that was active when the lock was
 * requested: core publishes in that context. Spans inside a callback are not children of the hold.
 */
export class Spans {
  private readonly ofHolds = new Map<ObservedHold, Span>()

  constructor(
    private readonly source: TracerSource,
    private readonly series: AllSeries,
    private readonly options: Pick<ResolvedOptions, 'spans' | 'waitSpanAfterMs'>,
  ) {}

  /** Created when the wait is over, with its original times: calls that do not wait cost nothing. */
  onCallEnded(call: ObservedCall): void {
    const { options } = this
    const { waitedMs = 0 } = call
    if (options.spans === 'off' || !call.hasWaited) {
      return
    }
    if (waitedMs < options.waitSpanAfterMs) {
      return
    }
    const tracer = this.source.get()
    if (!tracer) {
      return
    }
    const endTime = wallNow()
    const link = linkTo(traceparentOf(call.holder))
    const span = tracer.startSpan(this.nameOf('wait', call), {
      startTime: endTime - waitedMs,
      attributes: { ...this.series.of(call.lockName, call.kind).attributes, ...attributesOf(call) },
      links: link ? [link] : [],
    })
    if (call.outcome !== 'acquired') {
      span.setStatus({ code: SpanStatusCode.ERROR, message: textOf(call) })
    }
    span.end(endTime)
  }

  onHoldBegun(hold: ObservedHold): void {
    const tracer = this.options.spans === 'all' ? this.source.get() : undefined
    if (!tracer) {
      return
    }
    const { attributes } = this.series.of(hold.lockName, hold.kind)
    const span = tracer.startSpan(this.nameOf('hold', hold), { attributes }, context.active())
    if (span.isRecording()) {
      span.setAttribute(ATTRIBUTES.owner, hold.owner)
      this.ofHolds.set(hold, span)
    }
  }

  onHoldEnded(hold: ObservedHold): void {
    if (this.ofHolds.size === 0) {
      return
    }
    const span = this.ofHolds.get(hold)
    if (!span) {
      return
    }
    this.ofHolds.delete(hold)
    if (hold.outcome === 'lost') {
      span.setAttribute(ATTRIBUTES.reason, hold.reason ?? 'gone')
      span.setStatus({ code: SpanStatusCode.ERROR, message: 'lost' })
    } else if (hold.outcome === 'unknown') {
      span.setStatus({ code: SpanStatusCode.ERROR, message: 'Redis did not answer the release' })
    }
    span.end()
  }

  /** Ends the spans of current holds. */
  stop(): void {
    for (const span of this.ofHolds.values()) {
      span.end()
    }
    this.ofHolds.clear()
  }

  private nameOf(what: string, { lockName, kind }: ObservedCall | ObservedHold): string {
    const name = this.series.of(lockName, kind).attributes[ATTRIBUTES.name]
    return typeof name === 'string' ? `${what} ${name}` : what
  }
}

function attributesOf({ outcome, path, holder, error }: ObservedCall): Attributes {
  return {
    ...(outcome === undefined ? {} : { [ATTRIBUTES.outcome]: outcome }),
    ...(path === undefined ? {} : { [ATTRIBUTES.path]: path }),
    ...(holder === undefined ? {} : { [ATTRIBUTES.holder]: holder.owner }),
    ...(outcome === 'error' ? { [ATTRIBUTES.errorType]: errorTypeOf(error) } : {}),
  }
}

function textOf({ outcome = 'error', error }: ObservedCall): string {
  return outcome === 'error' ? errorTypeOf(error) : outcome
}

/** Present if the holder's client describes its holds. */
function traceparentOf(
  holder: (LockHolder & { readonly traceparent?: string }) | undefined,
): string | undefined {
  return holder?.traceparent
}
