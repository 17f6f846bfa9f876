import { describe, expect, test } from '@jest/globals'
import { RedisReplyError, encodeCommand, parseReply } from '../../src/harness/network/resp.js'

const read = (text: string): unknown => parseReply(Buffer.from(text))?.value

const FRAMES: readonly (readonly [string, string])[] = [
  ['a status', '+OK\r\n'],
  ['a long status', `+${'ok '.repeat(100)}\r\n`],
  ['an error', '-ERR no *3\r\n'],
  ['an integer', ':-42\r\n'],
  ['a bulk', '$3\r\nabc\r\n'],
  ['an empty bulk', '$0\r\n\r\n'],
  ['a bulk of line ends', '$6\r\n\r\n\n\r\r\n\r\n'],
  ['a null bulk', '$-1\r\n'],
  ['an empty array', '*0\r\n'],
  ['a null array', '*-1\r\n'],
  ['nested arrays', '*3\r\n*2\r\n:1\r\n*0\r\n*-1\r\n*1\r\n*1\r\n$2\r\n*1\r\n'],
  ['a map', '%2\r\n+a\r\n*2\r\n:1\r\n_\r\n$1\r\nb\r\n%1\r\n+c\r\n+d\r\n'],
  ['a set', '~2\r\n#t\r\n#f\r\n'],
  ['a double', ',-inf\r\n'],
  ['a null', '_\r\n'],
  ['a big number', '(3492890328409238509324850943850943825024385\r\n'],
  ['a bulk error', '!8\r\nERR\r\nno\n\r\n'],
  ['a verbatim string', '=7\r\ntxt:a\r\n\r\n'],
  ['attributes and their value', '|1\r\n+ttl\r\n:3600\r\n*2\r\n:1\r\n:2\r\n'],
  ['attributes within an array', '*2\r\n|1\r\n+ttl\r\n:3600\r\n:1\r\n:2\r\n'],
  ['a push', '>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\n\r\n\r\n'],
]

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

  test.each(FRAMES)('reads %s when it is whole, and not before, whatever follows', (_what, text) => {
    const bytes = Buffer.from(`${text}*1\r\n+next\r\n`)
    expect(parseReply(bytes)?.next).toBe(text.length)
    for (let end = 0; end < text.length; end += 1) {
      expect(parseReply(bytes.subarray(0, end))).toBeUndefined()
    }
    expect(parseReply(Buffer.from(`+a\r\n${text}`), 4)?.next).toBe(4 + text.length)
  })

  test.each(['HTTP/1.1 400', '', '$x', '$-2', '*1 ', '*?', `$${'1'.repeat(40)}`, '$'])(
    'refuses %j',
    (line) => {
      expect(() => read(`${line}\r\n`)).toThrow('not RESP')
    },
  )
})
