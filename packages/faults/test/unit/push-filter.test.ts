import { beforeEach, describe, expect, test } from '@jest/globals'
import { PushFilter } from '../../src/harness/network/push-filter.js'
import type { PushJudge } from '../../src/harness/network/push-filter.js'

class EveryNth implements PushJudge {
  armed = true
  seen = 0
  readonly errors: unknown[] = []
  readonly n: number

  constructor(n: number) {
    this.n = n
  }

  readonly drops = (): boolean => {
    if (!this.armed) return false
    this.seen += 1
    return this.seen % this.n === 0
  }

  readonly failed = (error: unknown): void => void this.errors.push(error)
}

const bulk = (content: string): string => `$${content.length}\r\n${content}\r\n`
const reply = (type: string, ...parts: string[]): string => `${type}${parts.length}\r\n${parts.join('')}`
const words = (type: string, ...parts: string[]): string => reply(type, ...parts.map(bulk))
const MEAN = words('*', 'message', 'c', 'x') + words('>', 'message', 'c', 'x')

/** The frames of a server, and whether each is a message. */
type Recorded = readonly (readonly [string, boolean])[]

const resp2: Recorded = [
  ['+PONG\r\n', false],
  // Before the connection has subscribed this is a reply.
  [words('*', 'message', 'c', 'reply'), false],
  [reply('*', bulk('subscribe'), bulk('c'), ':1\r\n'), false],
  [words('*', 'message', 'c', '1'), true],
  [words('*', 'message', 'c', MEAN), true],
  [reply('*', bulk('psubscribe'), bulk('c*'), ':2\r\n'), false],
  [words('*', 'pmessage', 'c*', 'c', '\r\n\0\xff'), true],
  [words('*', 'pong', ''), false],
  [words('*', 'message', '', ''), true],
  [words('*', 'messages', 'c', 'x'), false],
  [words('*', 'pmessage', 'c', 'x'), false],
  [words('*', 'message', 'c', 'x', 'y'), false],
  [reply('*', words('*', 'message', 'c', 'x'), '*-1\r\n', '$-1\r\n', '*0\r\n', ':1\r\n'), false],
  ['*-1\r\n', false],
  ['$-1\r\n', false],
  [bulk(MEAN), false],
  [words('*', 'smessage', 'c', 'x'.repeat(700)), true],
  [reply('*', bulk('unsubscribe'), bulk('c'), ':1\r\n'), false],
  [`-${MEAN.replaceAll('\r\n', ' ')}\r\n`, false],
  [words('*', 'message', 'c', 'last'), true],
]

const resp3: Recorded = [
  [reply('%', bulk('server') + bulk('redis'), bulk('modules') + '*0\r\n'), false],
  [reply('>', bulk('subscribe'), bulk('c'), ':1\r\n'), false],
  [words('>', 'message', 'c', '1'), true],
  // An ordinary array is a reply here.
  [words('*', 'message', 'c', 'reply'), false],
  [words('>', 'pmessage', 'c*', 'c', MEAN), true],
  ...['_\r\n', '#t\r\n', ',1.5\r\n', '(123\r\n'].map((frame) => [frame, false] as const),
  [words('~', 'message', 'c', 'x'), false],
  [words('>', 'invalidate', 'k'), false],
  [`|1\r\n+ttl\r\n:1\r\n${words('*', 'message', 'c', 'x')}`, false],
  [words('>', 'smessage', 'c', ''), true],
  [`=${MEAN.length + 4}\r\ntxt:${MEAN}\r\n`, false],
  ['!5\r\nERR x\r\n', false],
  [words('>', 'message', 'c', 'last'), true],
]

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')
const wholeOf = (recorded: Recorded): Buffer => latin1(recorded.map(([frame]) => frame).join(''))

/** The bytes that are to come through, and how many of them when so many have been sent. */
const expectedOf = (recorded: Recorded, n: number): { bytes: Buffer; after: number[] } => {
  let messages = 0
  let passed = ''
  const after: number[] = []
  for (const [frame, isMessage] of recorded) {
    after.push(...Array<number>(frame.length - 1).fill(passed.length))
    const dropped = isMessage && (messages += 1) % n === 0
    if (!dropped) passed += frame
    after.push(passed.length)
  }
  return { bytes: latin1(passed), after }
}

const streams = [
  ['RESP2', resp2, 1],
  ['RESP2', resp2, 2],
  ['RESP2', resp2, 3],
  ['RESP3', resp3, 1],
  ['RESP3', resp3, 2],
] as const

describe('PushFilter', () => {
  test.each(streams)(
    'PushFilter of %s, wherever it is split, only each n-th message is missing',
    (_name, recorded, n) => {
      const whole = wholeOf(recorded)
      const expected = expectedOf(recorded, n).bytes
      for (let split = 0; split <= whole.length; split += 1) {
        const filter = new PushFilter(new EveryNth(n))
        const passed = [whole.subarray(0, split), whole.subarray(split)].map((piece) => filter.pass(piece))
        expect(Buffer.concat(passed).equals(expected)).toBe(true)
      }
    },
  )

  test.each(streams)(
    'PushFilter of %s, byte by byte, each frame comes with its last byte',
    (_name, recorded, n) => {
      const whole = wholeOf(recorded)
      const { bytes, after } = expectedOf(recorded, n)
      const filter = new PushFilter(new EveryNth(n))
      let passed = Buffer.alloc(0)
      const lengths = [...whole.keys()].map((at) => {
        passed = Buffer.concat([passed, filter.pass(whole.subarray(at, at + 1))])
        return passed.length
      })
      expect(passed.equals(bytes)).toBe(true)
      expect(lengths).toEqual(after)
    },
  )
})

describe('PushFilter, armed and disarmed', () => {
  const judge = new EveryNth(1)
  let filter: PushFilter
  const send = (text: string): string => filter.pass(latin1(text)).toString('latin1')
  const message = words('*', 'message', 'c', 'x')

  beforeEach(() => {
    judge.armed = true
    judge.errors.length = 0
    filter = new PushFilter(judge)
  })

  test('reads nothing before it is armed, not even what is not RESP', () => {
    judge.armed = false
    expect(send(`HTTP/1.1 400\r\n${message}`)).toBe(`HTTP/1.1 400\r\n${message}`)
    judge.armed = true
    expect(send(`${message}+OK\r\n`)).toBe('+OK\r\n')
    expect(judge.errors).toEqual([])
  })

  test('armed within a line, it begins with a later chunk', () => {
    judge.armed = false
    send('$9\r\nab')
    judge.armed = true
    expect(send('c*3\r\n12\r\n')).toBe('c*3\r\n12\r\n')
    expect(send(message)).toBe('')
  })

  test('armed late, an array counts as a message until the connection shows that it is in RESP3', () => {
    judge.armed = false
    send('+OK\r\n')
    judge.armed = true
    expect(send(`${message}_\r\n${message}${words('>', 'message', 'c', 'x')}`)).toBe(`_\r\n${message}`)
  })

  test('disarmed within a message, that one is passed on, and nothing is read after it', () => {
    judge.armed = false
    send('+OK\r\n')
    judge.armed = true
    expect(send(message.slice(0, -3))).toBe('')
    judge.armed = false
    expect(send(message.slice(-3) + message)).toBe(message + message)
    expect(send(`not RESP${message}`)).toBe(`not RESP${message}`)
    expect(judge.errors).toEqual([])
  })

  test('disarmed at the start of a frame, what was held comes with the next bytes', () => {
    expect(send('>3\r\n$7\r\nmess')).toBe('')
    judge.armed = false
    expect(send('age\r\n+c\r\n+x\r\n')).toBe('>3\r\n$7\r\nmessage\r\n+c\r\n+x\r\n')
  })

  test('disarmed and armed again within a reply, it does not take the content for frames', () => {
    const big = bulk(message.repeat(3))
    expect(send(big.slice(0, 10))).toBe('')
    judge.armed = false
    expect(send(big.slice(10, 40))).toBe('')
    judge.armed = true
    expect(send(big.slice(40) + words('>', 'message', 'c', 'x'))).toBe(big)
  })

  test('a connection that ends within a start still gives it', () => {
    expect(send('+OK\r\n*3\r\n$7')).toBe('+OK\r\n')
    expect(filter.flush().toString()).toBe('*3\r\n$7')
    expect(filter.flush()).toHaveLength(0)
  })

  test('what is not RESP goes through, is told once, and ends the filter', () => {
    expect(send('+OK\r\n*3\r\n$7')).toBe('+OK\r\n')
    expect(send('x1\r\n')).toBe('*3\r\n$7x1\r\n')
    expect(send(message)).toBe(message)
    expect(judge.errors.map(String)).toEqual(['Error: not RESP: "$7x1"'])
  })
})
