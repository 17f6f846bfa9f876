import { describe, expect, test } from '@jest/globals'
import { RespFrame } from '../../src/harness/network/resp.js'

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

/** Reads pieces as one frame; gives how many bytes it took. */
const readAll = (frame: RespFrame, pieces: readonly Buffer[]): number =>
  pieces.reduce((sum, piece) => sum + frame.read(piece, 0), 0)

describe('RespFrame', () => {
  test.each(FRAMES)('ends with %s, wherever it is split and whatever follows', (_what, text) => {
    const bytes = Buffer.from(text)
    const follow = Buffer.concat([bytes, Buffer.from('*1\r\n+next\r\n')])
    for (let split = 0; split <= follow.length; split += 1) {
      const frame = new RespFrame()
      expect(readAll(frame, [follow.subarray(0, split), follow.subarray(split)])).toBe(bytes.length)
      expect(frame.complete).toBe(true)
    }
  })

  test.each(FRAMES)('is not complete before the last byte of %s', (_what, text) => {
    const bytes = Buffer.from(text)
    const frame = new RespFrame()
    const completeAfter = [...bytes.keys()].map((at) => {
      expect(frame.read(bytes.subarray(at, at + 1), 0)).toBe(1)
      return frame.complete
    })
    expect(completeAfter.indexOf(true)).toBe(bytes.length - 1)
  })

  test('reads a bulk of many megabytes that comes in chunks', () => {
    const size = 20_000_003
    const chunk = Buffer.alloc(65_536, '*3\r\n$7\r\nmessage\r\n')
    const frame = new RespFrame()
    frame.read(Buffer.from(`*2\r\n$${size}\r\n`), 0)
    let left = size + 2
    for (; left >= chunk.length; left -= chunk.length) expect(frame.read(chunk, 0)).toBe(chunk.length)
    expect(frame.read(Buffer.alloc(left), 0)).toBe(left)
    expect(frame.complete).toBe(false)
    expect(frame.read(Buffer.from(':1\r\n'), 0)).toBe(4)
    expect(frame.complete).toBe(true)
  })

  test('starts at an offset', () => {
    expect(new RespFrame().read(Buffer.from('+a\r\n:1\r\n+b\r\n'), 4)).toBe(8)
  })

  test.each([
    'HTTP/1.1',
    '\r\n',
    '$x',
    '$1\n',
    '$-2\r\n',
    '*1 \r\n',
    '*?\r\n',
    `$${'1'.repeat(40)}`,
    '$\r\n',
  ])('refuses %j', (text) => {
    expect(() => new RespFrame().read(Buffer.from(text), 0)).toThrow('not RESP')
    const frame = new RespFrame()
    const read = (byte: number): number => frame.read(Buffer.from([byte]), 0)
    expect(() => Buffer.from(text).forEach(read)).toThrow('not RESP')
  })
})
