import { describe, expect, it } from '@jest/globals'
import {
  INBOX_PREFIX,
  latchChannel,
  tombstonePrefix,
  operationsKey,
  ownerField,
  permitsChannel,
  permitTimeouts,
  tokenKey,
  unlockChannel,
} from '../../src/keys.js'
import { hashSlot } from '../../src/redis/hash-slot.js'

describe('key and channel names, byte for byte', () => {
  it.each([
    ['foo', 'redisson_lock__channel:{foo}'],
    ['order:42', 'redisson_lock__channel:{order:42}'],
    ['größe ☃', 'redisson_lock__channel:{größe ☃}'],
    ['a}b', 'redisson_lock__channel:{a}b}'],
    ['a{b}c', 'redisson_lock__channel:a{b}c'],
    ['{a}', 'redisson_lock__channel:{a}'],
    ['a{', 'redisson_lock__channel:a{'],
    ['{', 'redisson_lock__channel:{'],
    ['a}{b', 'redisson_lock__channel:a}{b'],
    ['a{}', 'redisson_lock__channel:a{}'],
  ])('the unlock channel of %j is %j: a "{" anywhere means no braces of ours', (name, channel) => {
    expect(unlockChannel(name)).toBe(channel)
  })

  it.each([
    [tombstonePrefix('foo') + ownerField('c~1', 7), 'holdfast:latch:{foo}:c~1:7'],
    [tombstonePrefix('a{b}c') + ownerField('c~1', 7), 'holdfast:latch:a{b}c:c~1:7'],
    [tokenKey('foo'), 'redisson_lock_token:{foo}'],
    [tokenKey('a{b}c'), 'redisson_lock_token:a{b}c'],
    [permitsChannel('foo'), 'redisson_sc:{foo}'],
    [permitsChannel('a{b}c'), 'redisson_sc:a{b}c'],
    [permitTimeouts('foo'), '{foo}:timeout'],
    [permitTimeouts('a{b}c'), 'a{b}c:timeout'],
    // Redisson puts braces around any name here.
    [latchChannel('foo'), 'redisson_countdownlatch__channel__{foo}'],
    [latchChannel('a{b}c'), 'redisson_countdownlatch__channel__{a{b}c}'],
    [operationsKey('foo', 'c~1'), 'holdfast:operations:{foo}:c~1'],
    [operationsKey('a{b}c', 'c~1'), 'holdfast:operations:a{b}c:c~1'],
    [ownerField('api-1~V1StGXR8', 1), 'api-1~V1StGXR8:1'],
    [ownerField('c', Number.MAX_SAFE_INTEGER), 'c:9007199254740991'],
    [INBOX_PREFIX, 'holdfast:client:'],
  ])('%j is %j', (built, name) => {
    expect(built).toBe(name)
  })

  it.each(['foo', 'order:42', 'a{b}c', '{a}', 'x{y}{z}'])(
    'key, channel, tombstone and counter of %j are in one cluster slot',
    (name) => {
      const tombstone = tombstonePrefix(name) + ownerField('c', 1)
      const slots = [name, unlockChannel(name), tombstone, tokenKey(name)].map(hashSlot)
      expect(new Set(slots).size).toBe(1)
    },
  )
})
