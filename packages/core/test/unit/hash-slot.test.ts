import { describe, expect, it } from '@jest/globals'
import calculateSlot from 'cluster-key-slot'
import { hashSlot } from '../../src/redis/hash-slot.js'

/** The answers of `CLUSTER KEYSLOT` of Redis 7.0. */
const KNOWN: [string, number][] = [
  ['', 0],
  ['123456789', 12739],
  ['order:42', 8691],
  ['{user1000}.following', 3443],
  ['foo{}{bar}', 8363],
  ['foo{{bar}}zap', 4015],
  ['foo{bar}{zap}', 5061],
  ['{}', 15257],
  ['a}b{c', 13587],
  ['schlüssel{für}😀', 1113],
]

describe('the slot of a key', () => {
  it.each(KNOWN)('%j is %i, as Redis says', (key, slot) => {
    expect(hashSlot(key)).toBe(slot)
  })

  it('is the one that ioredis and node-redis take, with and without a tag', () => {
    for (let i = 0; i < 2_000; i += 1) {
      const text = (i * 2_654_435_761).toString(36)
      for (const key of [text, `{${text}}:a`, `lock:{${text}é}:1`]) {
        expect([key, hashSlot(key)]).toEqual([key, calculateSlot(key)])
      }
    }
  })
})
