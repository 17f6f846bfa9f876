import { describe, expect, it } from '@jest/globals'
import { LockTimeoutError } from '../../src/index.js'
import { keyPattern, partsOfOwner } from '../../src/keys.js'
import { holderInWords, lockHolder } from '../../src/lock-holder.js'

const RANDOM = 'uV1StGXR8Z5jdHi6Bmyt2'
const OWNER = `orders-7f9-12~${RANDOM}:42`
const facts = { owner: OWNER, holds: 1, leaseLeftMs: 17_000, heldForAtLeastMs: 0 }

describe('an owner', () => {
  it.each([
    [OWNER, { clientName: 'orders-7f9-12', threadId: '42' }],
    [`orders~${RANDOM}:042`, { clientName: 'orders', threadId: '42', lingers: true }],
    [`a b~c~${RANDOM}:7:write`, { clientName: 'a b~c', threadId: '7' }],
    ['8743c9c0-0795-4907-87fd-6c719a6b4586:57', undefined],
    [`orders~${RANDOM}`, undefined],
    [`orders~short:42`, undefined],
    ['', undefined],
  ])('%s: its client and thread, where it is of our form', (owner, parts) => {
    expect(partsOfOwner(owner)).toEqual(parts)
  })
})

describe('a holder in words', () => {
  const WHO = 'orders-7f9-12 (thread 42)'
  const IDLE = `orders-7f9-12~${RANDOM}:042`
  it.each([
    [{ owner: IDLE, heldForMs: 3 }, `${WHO} has held it, or kept it idle, for 3 ms, 17 s of lease left`],
    [{ owner: IDLE }, `${WHO} holds it, or keeps it idle, 17 s of lease left`],
    [{ heldForMs: 12_345 }, `${WHO} has held it for 12.3 s, 17 s of lease left`],
    [{ heldForMs: 12_345, heldForAtLeastMs: 3 }, `${WHO} has held it for 12.3 s, 17 s of lease left`],
    [{ heldForAtLeastMs: 850 }, `${WHO} has held it for at least 850 ms, 17 s of lease left`],
    [{}, `${WHO} holds it, 17 s of lease left`],
    [{ heldForMs: 303_400 }, `${WHO} has held it for 5 min 3 s, 17 s of lease left`],
    [{ heldForMs: 59_960 }, `${WHO} has held it for 1 min 0 s, 17 s of lease left`],
    [{ heldForMs: 999.6 }, `${WHO} has held it for 1 s, 17 s of lease left`],
    [{ leaseLeftMs: -1 }, `${WHO} holds it, its lease does not expire`],
    [{ others: 1 }, `${WHO} holds it, and 1 other with it, 17 s of lease left`],
    [{ others: 3 }, `${WHO} holds it, and 3 others with it, 17 s of lease left`],
    [
      { leaseLeftMs: 3_629_000, longestLeaseMs: 30_000 },
      `${WHO} holds it, 60 min 29 s of lease left, longer than any lease of this client (30 s): the holder asked for ` +
        'more, or the clock of Redis was set back',
    ],
    [{ longestLeaseMs: 17_000 }, `${WHO} holds it, 17 s of lease left`],
    [{ owner: 'java:57' }, 'java:57 holds it, 17 s of lease left'],
    [{ clientId: `orders-7f9-12~${RANDOM}` }, `${WHO}, this very client, holds it, 17 s of lease left`],
    [{ clientId: `orders-7f9-13~${RANDOM}` }, `${WHO} holds it, 17 s of lease left`],
  ])('%j', (known, text) => {
    expect(holderInWords(lockHolder({ ...facts, ...known }))).toBe(text)
  })

  it('a LOCK_TIMEOUT says it, and the place in the queue', () => {
    const holder = lockHolder({ ...facts, heldForMs: 12_345 })
    const error = new LockTimeoutError({ lockName: 'order:42', waitedMs: 99.6, holder, placeInLine: 3 })
    expect(error.message).toBe(
      'Lock "order:42" not acquired in 100 ms: orders-7f9-12 (thread 42) has held it for 12.3 s, 17 s of lease left; ' +
        'place 3 in line. Try again later, or wait longer (waitMs).',
    )
  })
})

describe('a pattern of SCAN', () => {
  it('has a prefix that means itself', () => {
    expect(keyPattern('', 'order:*')).toBe('order:*')
    expect(keyPattern('a*b?[c]^\\-:', '*')).toBe('a\\*b\\?\\[c\\]\\^\\\\\\-:*')
  })
})
