import {
  context,
  isSpanContextValid,
  trace,
  TraceFlags,
  type Link,
  type SpanContext,
} from '@opentelemetry/api'

// W3C Trace Context, version 00. Later versions begin the same way.
const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/

/**
 * Returns the `traceparent` of the active span (W3C Trace Context), for a client's `describeHolds` option: waiters
 * can then link to the holder's trace. Undefined without an active span.
 */
export function currentTraceparent(): string | undefined {
  const active = trace.getSpanContext(context.active())
  if (!active || !isSpanContextValid(active)) {
    return undefined
  }
  const flags = (active.traceFlags & 0xff).toString(16).padStart(2, '0')
  return `00-${active.traceId}-${active.spanId}-${flags}`
}

/** Undefined for invalid text: it comes from Redis, where any client may have written it. */
export function linkTo(traceparent: string | undefined): Link | undefined {
  const [, version, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined || version === 'ff') {
    return undefined
  }
  const traceFlags = Number.parseInt(flags ?? '0', 16) & TraceFlags.SAMPLED
  const context: SpanContext = { traceId, spanId, traceFlags, isRemote: true }
  return isSpanContextValid(context) ? { context } : undefined
}
