import { RespFrame } from './resp.js'

/** Who decides which messages of a connection are dropped. */
export interface PushJudge {
  readonly armed: boolean
  /** Asked once for each message, in order. */
  drops(): boolean
  /** The server's bytes are not RESP; nothing is dropped there any more. */
  failed(error: unknown): void
}

const startOf = (type: string, parts: number, kind: string): string =>
  `${type}${parts}\r\n$${kind.length}\r\n${kind}\r\n`

const messagesOf = (type: string): string[] => [
  startOf(type, 3, 'message'),
  startOf(type, 4, 'pmessage'),
  startOf(type, 3, 'smessage'),
]

const PUSHED = messagesOf('>')
const IN_ARRAYS = messagesOf('*')
const CONFIRMATIONS = ['subscribe', 'psubscribe', 'ssubscribe'].map((kind) => startOf('*', 3, kind))
const STARTS = [...PUSHED, ...IN_ARRAYS, ...CONFIRMATIONS]
const LONGEST_START = Math.max(...STARTS.map((start) => start.length))
// Types that no connection in RESP2 is sent.
const ONLY_RESP3 = '>%~_#,(=!|'
const LF = 0x0a

/**
 * What one connection gets of the server's bytes: all but the messages that are to be dropped. It reads frames
 * only while somebody is armed, and then to the end of the frame under way. Until it is known whether a frame is
 * a message its first bytes are held back, at most 20 of them; nothing else is.
 *
 * In RESP3 a message is a type of its own. In RESP2 it is an array like any other: arrays are taken for messages
 * on a connection that has subscribed, or that may have before anybody was armed.
 */
export class PushFilter {
  readonly #judge: PushJudge
  #frame: RespFrame | undefined
  /** Whether the frame passes; undefined while that is not known. */
  #verdict: 'pass' | 'drop' | undefined
  /** The start of the frame, until there is a verdict. */
  #held: Buffer | undefined
  #maySubscribe = false
  /** Whether a frame may begin here, as far as that shows without reading: not within a line. */
  #betweenLines = true
  #broken = false

  constructor(judge: PushJudge) {
    this.#judge = judge
  }

  /** The bytes to be passed on now. */
  pass(bytes: Buffer): Buffer {
    if (!this.#isReading()) return this.#unread(bytes)
    const passed: Buffer[] = []
    let at = 0
    while (at < bytes.length && this.#isReading()) at = this.#read(bytes, at, passed)
    if (at < bytes.length) passed.push(this.#unread(bytes.subarray(at)))
    return Buffer.concat(passed)
  }

  /** The bytes held back, for a connection that ends within a frame. */
  flush(): Buffer {
    const held = this.#held ?? Buffer.alloc(0)
    this.#held = undefined
    return held
  }

  #isReading(): boolean {
    return this.#frame !== undefined || (this.#judge.armed && this.#betweenLines && !this.#broken)
  }

  #unread(bytes: Buffer): Buffer {
    this.#betweenLines = bytes.at(-1) === LF
    this.#maySubscribe = true
    return bytes
  }

  /** At most to the end of the frame; gives where it stopped. */
  #read(bytes: Buffer, offset: number, passed: Buffer[]): number {
    const frame = (this.#frame ??= new RespFrame())
    try {
      const end = frame.read(bytes, offset)
      this.#sort(bytes.subarray(offset, end), passed)
      if (frame.complete) this.#endFrame()
      return end
    } catch (error) {
      this.#broken = true
      passed.push(this.flush())
      this.#endFrame()
      this.#judge.failed(error)
      return offset
    }
  }

  #endFrame(): void {
    this.#frame = undefined
    this.#verdict = undefined
  }

  #sort(piece: Buffer, passed: Buffer[]): void {
    let known = piece
    if (this.#verdict === undefined) {
      this.#held = Buffer.concat([this.flush(), piece])
      this.#verdict = this.#judged(this.#held)
      if (this.#verdict === undefined) return
      known = this.flush()
    }
    if (this.#verdict === 'pass') passed.push(known)
  }

  #judged(frameStart: Buffer): 'pass' | 'drop' | undefined {
    const text = frameStart.toString('latin1', 0, LONGEST_START)
    if (STARTS.some((start) => start.length > text.length && start.startsWith(text))) return undefined
    const isAmong = (starts: readonly string[]): boolean => starts.some((start) => text.startsWith(start))
    if (ONLY_RESP3.includes(text.charAt(0))) this.#maySubscribe = false
    else if (isAmong(CONFIRMATIONS)) this.#maySubscribe = true
    const isMessage = isAmong(PUSHED) || (this.#maySubscribe && isAmong(IN_ARRAYS))
    return isMessage && this.#judge.drops() ? 'drop' : 'pass'
  }
}
