import { describe, expect, test } from '@jest/globals'
import { RedisReplyError, encodeCommand, parseReply } from '../../src/harness/network/resp.js'

const read = (text: string): unknown => parseReply(Buffer.from(text))?.value

describe('RESP', () => {
  test('encodes text, numbers and bytes with their length in bytes', () => {
    const bytes = encodeCommand(['SET', 'ä', 12, Buffer.from([0, 13])])
    expect(bytes.toString('latin1')).toBe('*4\r\n$3\r\nSET\r\n$2\r\nÃ¤\r\n$2\r\n12\r\n$2\r\n\0\r\r\n')
  })

  test('reads every kind of reply', () => {
    expect(read('+OK\r\n')).toBe('OK')
    expect(read(':42\r\n')).toBe(42)
    expect(read(':9007199254740993\r\n')).toBe('9007199254740993')
    expect(read('$-1\r\n')).toBeNull()
    expect(read('*-1\r\n')).toBeNull()
    expect(read('$4\r\na\r\nb\r\n')).toBe('a\r\nb')
    expect(read('*3\r\n:1\r\n*1\r\n$1\r\nx\r\n-ERR no\r\n')).toEqual([
      1,
      ['x'],
      new RedisReplyError('ERR no'),
    ])
  })

  test('waits for the rest of an incomplete reply', () => {
    const whole = '*2\r\n$3\r\nabc\r\n*1\r\n:7\r\n'
    for (let length = 0; length < whole.length; length += 1)
      expect(read(whole.slice(0, length))).toBeUndefined()
    expect(read(whole)).toEqual(['abc', [7]])
  })

  test('refuses what is not RESP2', () => {
    expect(() => read('HTTP/1.1 400\r\n')).toThrow('not a RESP2 reply')
  })
})
