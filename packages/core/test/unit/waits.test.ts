import { beforeEach, describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import type { Place } from '@holdfast/waiter'
import { AcquireCall } from '../../src/acquire/acquire-call.js'
import { HeldLocks } from '../../src/client/held-locks.js'
import { SelfWaits } from '../../src/diagnostics/self-waits.js'
import type { AcquireServices } from '../../src/acquire/services.js'
import { Contexts } from '../../src/context/ambient.js'
import { EventHub, type LockEvents } from '../../src/events.js'
import type { LockProtocol } from '../../src/kinds/lock-protocol.js'
import { resolveOptions } from '../../src/options.js'
import { CallOrigins } from '../../src/diagnostics/call-origins.js'
import { CallReports } from '../../src/diagnostics/call-reports.js'
import { LastSeenHolders } from '../../src/diagnostics/last-holders.js'
import { WaitReporter, type ReportedWait } from '../../src/diagnostics/wait-reporter.js'

let clock: ManualClock
let events: EventHub
let heard: LockEvents['waiting'][]
let resumed: number

const waitsOf = (thresholdMs: number): WaitReporter =>
  new WaitReporter(events, clock, thresholdMs, () => {
    resumed += 1
  })
const wait = (lockName: string): ReportedWait => ({
  lockName,
  startedAt: clock.now(),
  isUnlimited: false,
})
const listen = (): void => {
  events.on('waiting', (event) => heard.push(event))
}
const names = (): string[] => heard.map(({ lockName }) => lockName)

beforeEach(() => {
  clock = new ManualClock()
  events = new EventHub()
  heard = []
  resumed = 0
})

describe('waits that are told of', () => {
  it('without a threshold: at once, without a timer', () => {
    listen()
    waitsOf(0).parked(wait('a'), { ahead: 3 })
    expect(heard).toEqual([
      { lockName: 'a', holder: undefined, waitedMs: 0, placeInLine: undefined, aheadHere: 3 },
    ])
    expect(clock.pendingTimers).toBe(0)
  })

  it('nobody listens: no timer, and nothing is told later', async () => {
    const waits = waitsOf(100)
    const unheard = wait('a')
    waits.parked(unheard, { ahead: 0 })
    expect(clock.pendingTimers).toBe(0)
    listen()
    await clock.advance(1_000)
    waits.ended(unheard)
    expect(heard).toEqual([])
  })

  it('one timer for all, each told when it is due, with what is known then', async () => {
    listen()
    const waits = waitsOf(100)
    let placeInLine = 7
    waits.parked({ ...wait('a'), explain: () => ({ holder: undefined, placeInLine }) }, { ahead: 0 })
    await clock.advance(60)
    waits.parked(wait('b'), { ahead: 0 })
    waits.parked(wait('c'), { ahead: 1 })
    expect(clock.pendingTimers).toBe(1)
    placeInLine = 2
    await clock.advance(40)
    expect(heard).toMatchObject([{ lockName: 'a', waitedMs: 100, placeInLine: 2 }])
    expect(clock.pendingTimers).toBe(1)
    await clock.advance(60)
    expect(names()).toEqual(['a', 'b', 'c'])
    expect(clock.pendingTimers).toBe(0)
    await clock.advance(1_000)
    expect(heard).toHaveLength(3)
  })

  it('one that ends before is not told of, and the last one takes the timer with it', async () => {
    listen()
    const waits = waitsOf(100)
    const [a, b] = [wait('a'), wait('b')]
    waits.parked(a, { ahead: 0 })
    waits.parked(b, { ahead: 0 })
    waits.ended(a)
    expect(clock.pendingTimers).toBe(1)
    waits.ended(b)
    waits.ended(b)
    expect(clock.pendingTimers).toBe(0)
    await clock.advance(1_000)
    expect(heard).toEqual([])
  })

  it('a listener that ends waits: they are not told of any more', async () => {
    const waits = waitsOf(100)
    const [a, b] = [wait('a'), wait('b')]
    listen()
    events.on('waiting', () => waits.ended(b))
    waits.parked(a, { ahead: 0 })
    waits.parked(b, { ahead: 0 })
    await clock.advance(100)
    expect(names()).toEqual(['a'])
    expect(clock.pendingTimers).toBe(0)
  })

  it('after a pause the trust in holds is looked at before any listener hears (I3)', async () => {
    listen()
    const seen: number[] = []
    events.on('waiting', () => seen.push(resumed))
    waitsOf(100).parked(wait('a'), { ahead: 0 })
    await clock.advance(5_000)
    expect(seen).toEqual([1])
  })

  it('a call that is parked again, because what it came for was gone, is told of once', () => {
    listen()
    const lastHolders = new LastSeenHolders('orders~1', clock, 30_000)
    const origins = new CallOrigins()
    const parts = {
      clientId: 'c',
      runtime: clock,
      lastHolders,
      contexts: new Contexts(),
      options: resolveOptions(),
      reports: new CallReports({
        ...{ clientId: 'c', events, lastHolders, waits: waitsOf(0), tellsOrigins: false },
        ...{ selfWaits: new SelfWaits(new HeldLocks(), origins, clock, true), origins },
      }),
      runner: { plight: { isConnected: true, trouble: undefined, advice: '' } },
      nextThreadId: () => 1,
      assertOpen: () => undefined,
    }
    const request = {
      ...{ options: {}, defaultWaitMs: undefined, site: null, ofCallback: false },
      ...{ unscoped: null, byHand: null },
    }
    const protocol = { lockName: 'a', key: 'key' } as LockProtocol
    const call = new AcquireCall(
      parts as unknown as AcquireServices,
      protocol,
      request,
      (obtained) => obtained,
    )
    lastHolders.note('key', { holder: 'java:1', holds: 2, ttlMs: 30 })
    const place: Place<unknown> = {
      ahead: 1,
      leave: () => undefined,
      outcome: Promise.resolve({ kind: 'left' }),
    }
    call.parked(place)
    call.parked(place)
    expect(heard).toMatchObject([{ lockName: 'a', holder: { owner: 'java:1', holds: 2 }, aheadHere: 1 }])
  })
})

describe('lastHolders', () => {
  it('what one answer told of a hold goes on, and counts on, until another owner has it', async () => {
    const lastHolders = new LastSeenHolders('orders~1', clock, 30_000)
    const seen = { holder: 'java:1', holds: 1, ttlMs: 30_000 }
    lastHolders.note('key', { ...seen, note: { heldForMs: 5_000, traceparent: 'trace' } })
    await clock.advance(100)
    // A heartbeat goes without the note.
    lastHolders.note('key', seen)
    await clock.advance(100)
    expect(lastHolders.holderOf('key')).toEqual({
      ...{ owner: 'java:1', holds: 1, leaseLeftMs: 30_000, heldForAtLeastMs: 200 },
      ...{ heldForMs: 5_200, traceparent: 'trace' },
    })
    lastHolders.note('key', { ...seen, holder: 'java:2', owners: 3 })
    expect(lastHolders.holderOf('key')).toEqual({
      ...{ owner: 'java:2', holds: 1, leaseLeftMs: 30_000, heldForAtLeastMs: 0, others: 2 },
    })
    lastHolders.forget('key')
    expect(lastHolders.holderOf('key')).toBeUndefined()
  })
})
