import { describe, expect, it } from '@jest/globals'
import { INBOX_PREFIX, latchPrefix, ownerField, unlockChannel } from '../../src/keys.js'

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
  ])('the latch of %j is %j', (name, latch) => {
    expect(latchPrefix(name) + ownerField('c~1', 7)).toBe(latch)
  })

  it('an owner is <clientId>:<threadId>, the thread id in decimal', () => {
    expect(ownerField('api-1~V1StGXR8', 1)).toBe('api-1~V1StGXR8:1')
    expect(ownerField('c', Number.MAX_SAFE_INTEGER)).toBe('c:9007199254740991')
  })

  it('the inbox of a client is holdfast:client:<clientId>', () => {
    expect(INBOX_PREFIX).toBe('holdfast:client:')
  })

  it.each(['foo', 'order:42', 'a{b}c', '{a}', 'x{y}{z}'])(
    'key, channel and latch of %j are in one cluster slot',
    (name) => {
      const slots = [name, unlockChannel(name), latchPrefix(name) + ownerField('c', 1)].map(hashed)
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
