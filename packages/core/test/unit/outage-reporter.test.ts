import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '@holdfast/faults/harness'
import { OutageReporter } from '../../src/client/outage-reporter.js'
import { EventHub, type LockEvents } from '../../src/events.js'
import type { ConnectionState } from '../../src/redis/redis-port.js'
import { useWarnings } from '../redis/support/warnings.js'

const CODE = 'HOLDFAST_UNREACHABLE'
const REFUSED = new Error('connect ECONNREFUSED 127.0.0.1:6379')

describe('a Redis that is out of reach', () => {
  const warnings = useWarnings()

  const setUp = ({ listens = true, held = [{ lockName: 'a', trustedForMs: 27_000 }] } = {}) => {
    const clock = new ManualClock()
    const events = new EventHub()
    const told: LockEvents['unreachable'][] = []
    if (listens) {
      events.on('unreachable', (event) => told.push(event))
    }
    const listeners = new Set<() => void>()
    const port = {
      state: 'ready' as ConnectionState,
      trouble: undefined as Error | undefined,
      advice: '',
      onStateChange: (listener: () => void) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }
    const permits = { all: [{ lockName: 'plain permits', releaseOnClose: () => Promise.resolve() }] }
    const parts = { port, events, clock, held: { all: held }, borrowedPermits: permits }
    const reporter = new OutageReporter({ ...parts, beforeResume: () => undefined })
    const become = (state: ConnectionState, trouble?: Error): void => {
      Object.assign(port, { state, trouble })
      listeners.forEach((listener) => listener())
    }
    return { clock, told, listeners, reporter, become }
  }

  it('is told of after 2.5 s, once in an outage: what is held, how long it is trusted, and why', async () => {
    const { clock, told, become } = setUp({
      held: [
        { lockName: 'a', trustedForMs: 27_000 },
        { lockName: 'b', trustedForMs: 19_000 },
        { lockName: 'a', trustedForMs: 28_000 },
      ],
    })
    become('connecting', REFUSED)
    await clock.advance(2_499)
    expect(told).toEqual([])
    become('connecting', REFUSED)
    await clock.advance(1)
    expect(told).toEqual([
      { lockNames: ['a', 'b'], trustedForMs: 19_000, error: expect.objectContaining({ cause: REFUSED }) },
    ])
    expect(told[0]!.error).toMatchObject({
      code: 'REDIS_UNAVAILABLE',
      outcome: 'not-sent',
      message: expect.stringMatching(/^No connection to Redis for 2500 ms: connect ECONNREFUSED .*Check/),
    })
    become('connecting', REFUSED)
    await clock.advance(30_000)
    expect(told).toHaveLength(1)
    become('ready')
    become('connecting')
    await clock.advance(2_500)
    expect(told).toHaveLength(2)
  })

  it('is not told of where a fail-over takes two seconds, nor where nothing is held that a lease limits', async () => {
    const failOver = setUp()
    failOver.become('connecting', REFUSED)
    await failOver.clock.advance(2_400)
    failOver.become('ready')
    const nothingHeld = setUp({ held: [] })
    nothingHeld.become('connecting', REFUSED)
    for (const { clock, told } of [failOver, nothingHeld]) {
      await clock.advance(60_000)
      expect([told, clock.pendingTimers]).toEqual([[], 0])
    }
  })

  it('after a pause of the process its connections are read before anything is told', async () => {
    const { clock, told, become } = setUp()
    become('connecting', REFUSED)
    // Nothing could be read meanwhile: the connection is back in the next turn.
    clock.pass(10_000)
    await clock.advance(0)
    expect(told).toEqual([])
    become('ready')
    await clock.advance(10_000)
    expect(told).toEqual([])
  })

  it('without a listener is one warning, with what becomes of the hold', async () => {
    const held = ['a', 'b', 'c', 'd', 'e'].map((lockName) => ({ lockName, trustedForMs: 27_123 }))
    const { clock, become } = setUp({ listens: false, held })
    for (let outage = 0; outage < 2; outage += 1) {
      become('connecting', REFUSED)
      await clock.advance(2_500)
      become('ready')
    }
    expect(await warnings.delivered(CODE)).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(
          /No connection to Redis for 2500 ms: connect ECONN.* Held there: "a", "b", "c" and 2 more\. .*another 27\.1 s.*signal.*aborts.*LockLostError.*on\('unreachable'/,
        ),
      }),
    ])
  })

  it('for good, and what is held is not trusted meanwhile: both are said', async () => {
    const { clock, become } = setUp({ listens: false, held: [{ lockName: 'a', trustedForMs: 0 }] })
    become('ended')
    await clock.advance(2_500)
    const [warning] = await warnings.delivered(CODE)
    expect(warning?.message).toMatch(
      /^The Redis connection has ended\. .*close a LockClient before.*Until Redis has confirmed it, hold\.ensure\(\) throws/,
    )
  })

  it('renewals that fail although there is a connection are told of after 2.5 s, and once a minute', async () => {
    const { clock, told, reporter } = setUp()
    const late = new Error('READONLY You can not write against a read only replica.')
    reporter.renewalFailed(late, 0)
    reporter.renewalFailed(late, 2_400)
    expect(told).toEqual([])
    reporter.renewalFailed(late, 3_100)
    reporter.renewalFailed(late, 9_000)
    expect(told.map(({ error }) => error.message)).toEqual([
      'Renewals have failed for 3100 ms: READONLY You can not write against a read only replica.',
    ])
    await clock.advance(60_000)
    reporter.renewalFailed(late, 69_000)
    expect(told).toHaveLength(2)
  })

  it('leaves neither a timer nor a listener when its client closes (I5)', () => {
    const { clock, listeners, reporter, become } = setUp()
    become('connecting', REFUSED)
    reporter.close()
    expect([clock.pendingTimers, listeners.size]).toEqual([0, 0])
  })
})
