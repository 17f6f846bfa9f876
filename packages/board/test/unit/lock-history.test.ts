import { describe, expect, it } from '@jest/globals'
import type { LockEvent, SeenLock } from '@holdfast/core/observe'
import { clientIdOf, LockHistory } from '../../src/collect/lock-history.js'

const NOW = 1_000_000
const NOBODY = (): boolean => false

const heldBy = (owner: string): SeenLock => ({
  ...{ name: 'a', kind: undefined, mode: undefined, token: undefined, waiting: 0, waiters: [], overtaken: 0 },
  leaseLeftMs: 30_000,
  holders: [{ owner, holds: 1, leaseLeftMs: 30_000, heldForAtLeastMs: 0 }],
})

const event = (type: LockEvent['type'], owner: string, more: Partial<LockEvent> = {}): LockEvent => ({
  ...{ type, owner, lockName: 'a', clientId: clientIdOf(owner), kind: 'fair', agoMs: 0, reason: '' },
  ...more,
})

const shown = ({ segments }: LockHistory): unknown[] =>
  segments.map(({ owner, from, to, end }) => [owner, from, to, end])

describe('LockHistory', () => {
  it('shows holds of clients that do not tell, as looks find them', () => {
    const history = new LockHistory('a')
    history.looked(heldBy('c~1:1'), NOW, NOBODY)
    history.looked(heldBy('c~1:1'), NOW + 250, NOBODY)
    history.looked(heldBy('c~2:1'), NOW + 500, NOBODY)
    history.looked(undefined, NOW + 750, NOBODY)
    expect(shown(history)).toEqual([
      ['c~1:1', NOW, NOW + 500, 'gone'],
      ['c~2:1', NOW + 500, NOW + 750, 'gone'],
    ])
  })

  it('shows holds as their clients tell them, with the time that the message took', () => {
    const history = new LockHistory('a')
    history.happened(event('held', 'c~1:1', { agoMs: 100 }), NOW)
    history.happened(event('released', 'c~1:1', { agoMs: 50 }), NOW)
    history.happened(event('held', 'c~1:2'), NOW)
    history.happened(event('lost', 'c~1:2', { reason: 'forced' }), NOW + 10)
    expect(shown(history)).toEqual([
      ['c~1:1', NOW - 100, NOW - 50, 'released'],
      ['c~1:2', NOW, NOW + 10, 'lost'],
    ])
    expect(history.segments[1]!.reason).toBe('forced')
  })

  it('a look that was answered before an event does not end what the event tells of', () => {
    const history = new LockHistory('a')
    history.happened(event('held', 'c~1:1'), NOW)
    history.looked(undefined, NOW + 10, () => true)
    expect(shown(history)).toEqual([['c~1:1', NOW, null, '']])
    // Its client was killed, and tells nothing.
    history.looked(undefined, NOW + 5_000, () => true)
    expect(shown(history)).toEqual([['c~1:1', NOW, NOW + 5_000, 'gone']])
  })

  it('inside a client the lock changes hands before Redis has the new name', () => {
    const history = new LockHistory('a')
    history.looked(heldBy('c~1:1'), NOW, () => true)
    history.happened(event('held', 'c~1:5'), NOW + 100)
    history.looked(heldBy('c~1:1'), NOW + 2_000, () => true)
    expect(shown(history)).toEqual([
      ['c~1:1', NOW, NOW + 100, 'gone'],
      ['c~1:5', NOW + 100, null, ''],
    ])
  })

  it('shows waits, and ends those of a client that reports no more', () => {
    const history = new LockHistory('a')
    history.happened(event('waits', '1', { clientId: 'c~1', agoMs: 20 }), NOW)
    history.happened(event('waits', '2', { clientId: 'c~1' }), NOW)
    history.happened(event('waits', '1', { clientId: 'c~2' }), NOW)
    history.happened(event('left', '1', { clientId: 'c~1' }), NOW + 5)
    history.keepWaitsOf([], NOW + 50)
    expect(history.waits.map(({ lane, from, to }) => [lane, from, to])).toEqual([
      ['c~1', NOW - 20, NOW + 5],
      ['c~1', NOW, NOW + 50],
      ['c~2', NOW, NOW + 50],
    ])
  })

  it('keeps the latest of very many', () => {
    const history = new LockHistory('a')
    for (let i = 0; i < 1_000; i += 1) {
      history.happened(event('held', `c~1:${i}`), NOW + i)
      history.happened(event('released', `c~1:${i}`), NOW + i)
      history.happened(event('waits', `${i}`, { clientId: 'c~1' }), NOW + i)
    }
    expect([history.segments.length, history.waits.length]).toEqual([400, 400])
    expect(history.segments.at(-1)!.owner).toBe('c~1:999')
  })

  it.each([
    ['c~1:7', 'c~1'],
    ['c~1:7:write', 'c~1'],
    ['8f0c-uuid:12', '8f0c-uuid'],
    ['a token of another library', 'a token of another library'],
  ])('the client of %s is %s', (owner, client) => {
    expect(clientIdOf(owner)).toBe(client)
  })
})
