import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { channel } from 'node:diagnostics_channel'
import { LOCK_CHANNELS, type LockClient, type ObservedCall } from '../../../core/src/index.js'
import { SpanStatusCode } from '@opentelemetry/api'
import { eventually, useRig } from '../../../core/test/redis/support/rig.js'
import { currentTraceparent } from '../../src/index.js'
import { inSpan, keepContexts, Telemetry } from './support/telemetry.js'

describe('spans', () => {
  const harness = useRig({ redis: 'all' })
  let telemetry: Telemetry
  let locks: LockClient
  let forget: () => void

  beforeAll(() => {
    forget = keepContexts()
  })
  afterAll(() => forget())
  beforeEach(async () => {
    telemetry = new Telemetry({ lockName: (name) => name.replace(/^[^:]*:/, '') })
    locks = await harness.client()
    locks.on('lost', () => undefined)
  })
  afterEach(() => telemetry.stop())

  const spansNamed = (name: string) => telemetry.spans.getFinishedSpans().filter((span) => span.name === name)

  it('spans of a hold and of a wait are children of what was active where the lock was asked for', async () => {
    const lock = locks.getLock(harness.name('a'))
    const other = (await harness.client()).getLock(harness.name('a'))
    const hold = await inSpan(telemetry, 'first', () => lock.acquire())
    const second = inSpan(telemetry, 'second', async () => {
      await (await other.acquire()).release()
    })
    await eventually(async () => (await telemetry.sum('holdfast_lock_waiters')) === 1)
    await hold.release()
    await second
    const [first] = spansNamed('first')
    const [after] = spansNamed('second')
    const [wait, ...moreWaits] = spansNamed('wait a')
    const holds = spansNamed('hold a')
    expect(moreWaits).toEqual([])
    expect(wait!.parentSpanContext?.spanId).toBe(after!.spanContext().spanId)
    expect(holds.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual([
      first!.spanContext().spanId,
      after!.spanContext().spanId,
    ])
    expect(wait!.attributes).toMatchObject({
      'holdfast.lock.name': 'a',
      'holdfast.lock.kind': 'reentrant',
      'holdfast.lock.outcome': 'acquired',
      'holdfast.lock.holder': hold.owner,
    })
    expect(holds[0]!.attributes['holdfast.lock.owner']).toBe(hold.owner)
    expect([wait, ...holds].map((span) => span!.status.code)).toEqual([0, 0, 0])
    expect(wait!.duration[0] * 1000 + wait!.duration[1] / 1e6).toBeGreaterThan(0)
  })

  it('spans of what failed have the status error', async () => {
    const lock = locks.getLock(harness.name('a'))
    const other = (await harness.client()).getLock(harness.name('a'))
    const hold = await lock.acquire()
    await expect(other.acquire({ waitMs: 1_000 })).rejects.toThrow()
    await lock.forceUnlock()
    await eventually(() => hold.isLost)
    expect(spansNamed('wait a')[0]!.status).toEqual({ code: SpanStatusCode.ERROR, message: 'timeout' })
    const [lost] = spansNamed('hold a')
    expect(lost!.status).toEqual({ code: SpanStatusCode.ERROR, message: 'lost' })
    expect(lost!.attributes['holdfast.lock.loss.reason']).toBe('forced')
  })

  it('spans of a wait link to the trace of the holder, where that is told', async () => {
    let traceparent: string | undefined
    await inSpan(telemetry, 'holder', () => {
      traceparent = currentTraceparent()
      return Promise.resolve()
    })
    const { traceId, spanId } = spansNamed('holder')[0]!.spanContext()
    expect(traceparent).toBe(`00-${traceId}-${spanId}-01`)
    expect(currentTraceparent()).toBeUndefined()
    // Core publishes this of a holder whose client describes its holds.
    const call = (holderTraceparent: string): ObservedCall => ({
      ...{ phase: 'ended', lockName: 'x:a', kind: 'reentrant', clientId: 'c', hasWaited: true },
      ...{ outcome: 'acquired', path: 'remote', waitedMs: 5, handOffMs: undefined, error: undefined },
      holder: Object.assign(
        { owner: 'o', holds: 1, leaseLeftMs: 1, heldForAtLeastMs: 1 },
        { traceparent: holderTraceparent },
      ),
    })
    channel(LOCK_CHANNELS.callEnded).publish(call(traceparent!))
    channel(LOCK_CHANNELS.callEnded).publish(call('what anybody may have written'))
    const [linked, unlinked] = spansNamed('wait a')
    expect(linked!.links.map(({ context }) => [context.traceId, context.spanId])).toEqual([[traceId, spanId]])
    expect(unlinked!.links).toEqual([])
  })

  it('spans of a wait link to the trace of a holder that notes it beside the lock', async () => {
    const describing = await harness.client({ describeHolds: currentTraceparent })
    const name = harness.name('a')
    const hold = await inSpan(telemetry, 'holder', () => describing.getLock(name).acquire())
    const waiting = locks.getLock(name).acquire()
    await eventually(async () => (await telemetry.sum('holdfast_lock_waiters')) === 1)
    await hold.release()
    await (await waiting).release()
    const { traceId, spanId } = spansNamed('holder')[0]!.spanContext()
    const [wait] = spansNamed('wait a')
    expect(wait!.links.map(({ context }) => [context.traceId, context.spanId])).toEqual([[traceId, spanId]])
  })

  it('are few where only waits are wanted, and only long ones', async () => {
    telemetry.instrumentation.disable()
    const few = new Telemetry({ spans: 'waits', waitSpanAfterMs: 10_000 })
    const lock = locks.getLock(harness.name('a'))
    const hold = await lock.acquire()
    await expect(lock.acquire({ waitMs: 5 })).rejects.toThrow()
    await hold.release()
    expect(few.spans.getFinishedSpans()).toEqual([])
    await few.stop()
  })
})
