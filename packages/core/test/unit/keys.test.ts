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
    ['foo', 'holdfast:latch:{foo}:c~1:7'],
    ['a{b}c', 'holdfast:latch:a{b}c:c~1:7'],
  ])('the tombstone of %j is %j', (name, tombstone) => {
    expect(tombstonePrefix(name) + ownerField('c~1', 7)).toBe(tombstone)
  })

  it.each([
    ['foo', 'redisson_lock_token:{foo}'],
    ['a{b}c', 'redisson_lock_token:a{b}c'],
  ])('the token counter of %j is %j', (name, key) => {
    expect(tokenKey(name)).toBe(key)
  })

  it.each([
    ['foo', 'redisson_sc:{foo}', '{foo}:timeout', 'redisson_countdownlatch__channel__{foo}'],
    ['a{b}c', 'redisson_sc:a{b}c', 'a{b}c:timeout', 'redisson_countdownlatch__channel__{a{b}c}'],
  ])('channel, time-outs and latch channel of %j', (name, ...names) => {
    expect([permitsChannel(name), permitTimeouts(name), latchChannel(name)]).toEqual(names)
  })

  it('the operations of a client are holdfast:operations:{name}:<clientId>', () => {
    expect(operationsKey('foo', 'c~1')).toBe('holdfast:operations:{foo}:c~1')
    expect(operationsKey('a{b}c', 'c~1')).toBe('holdfast:operations:a{b}c:c~1')
  })

  it('an owner is <clientId>:<threadId>, the thread id in decimal', () => {
    expect(ownerField('api-1~V1StGXR8', 1)).toBe('api-1~V1StGXR8:1')
    expect(ownerField('c', Number.MAX_SAFE_INTEGER)).toBe('c:9007199254740991')
  })

  it('the inbox of a client is holdfast:client:<clientId>', () => {
    expect(INBOX_PREFIX).toBe('holdfast:client:')
  })

  it.each(['foo', 'order:42', 'a{b}c', '{a}', 'x{y}{z}'])(
    'key, channel, tombstone and counter of %j are in one cluster slot',
    (name) => {
      const tombstone = tombstonePrefix(name) + ownerField('c', 1)
      const slots = [name, unlockChannel(name), tombstone, tokenKey(name)].map(hashed)
      expect(new Set(slots).size).toBe(1)
    },
  )
})

/** The part of a key that Redis Cluster hashes. */
function hashed(key: string): string {
  const start = key.indexOf('{')
  const end = key.indexOf('}', start + 1)
  return start < 0 || end <= start + 1 ? key : key.slice(start + 1, end)
}
