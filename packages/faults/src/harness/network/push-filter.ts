import { parseReply } from './resp.js'

/** Who decides which messages of a connection are dropped. */
export interface PushJudge {
  readonly armed: boolean
  /** Asked once for each message, in order. */
  drops(): boolean
  /** The server's bytes are not RESP; nothing is dropped there any more. */
  failed(error: unknown): void
}

/** How many parts a message of each kind has. */
const PARTS: Readonly<Record<string, number>> = { message: 3, pmessage: 4, smessage: 3 }
const CONFIRMATIONS = ['subscribe', 'psubscribe', 'ssubscribe']
const NOTHING = Buffer.alloc(0)
// Types that no connection in RESP2 is sent.
const ONLY_RESP3 = '>%~_#,(=!|'
const LF = 0x0a

/**
 * The bytes that one connection gets of those of the server: all but the messages that are to be dropped. It reads frames
 * only while somebody is armed, and then to the end of the frame under way, which it holds back until it is whole.
 *
 * In RESP3 a message is a type of its own. In RESP2 it is an array like any other: arrays are taken for messages
 * on a connection that has subscribed, or that may have before anybody was armed.
 */
export class PushFilter {
  readonly #judge: PushJudge
  /** The frame under way. */
  #held = NOTHING
  #maySubscribe = false
  /** Whether a frame may begin here, as far as that shows without reading: not within a line. */
  #betweenLines = true
  #broken = false

  constructor(judge: PushJudge) {
    this.#judge = judge
  }

  /** The bytes to be passed on now. */
  pass(bytes: Buffer): Buffer {
    let isUnderWay = this.#held.length > 0
    let left = Buffer.concat([this.flush(), bytes])
    const passed: Buffer[] = []
    while (left.length > 0 && (isUnderWay || this.#begins)) {
      const frame = this.#frameIn(left)
      if (frame === null) {
        this.#held = left
        return Buffer.concat(passed)
      }
      isUnderWay = false
      const { end, isDropped } = frame
      if (!isDropped) passed.push(left.subarray(0, end))
      left = left.subarray(end)
    }
    if (left.length > 0) {
      this.#betweenLines = left.at(-1) === LF
      this.#maySubscribe = true
    }
    return Buffer.concat([...passed, left])
  }

  /** The bytes held back, for a connection that ends within a frame. */
  flush(): Buffer {
    const held = this.#held
    this.#held = NOTHING
    return held
  }

  /** Whether a frame that begins here is read. */
  get #begins(): boolean {
    return this.#judge.armed && this.#betweenLines && !this.#broken
  }

  /** Null: it is not whole. What is no frame is passed on. */
  #frameIn(bytes: Buffer): { readonly end: number; readonly isDropped: boolean } | null {
    try {
      const frame = parseReply(bytes)
      return frame
        ? { end: frame.next, isDropped: this.#drops(bytes.toString('latin1', 0, 1), frame.value) }
        : null
    } catch (error) {
      this.#broken = true
      this.#judge.failed(error)
      return { end: 0, isDropped: false }
    }
  }

  #drops(type: string, value: unknown): boolean {
    const words: readonly unknown[] = Array.isArray(value) ? value : []
    const [kind] = words
    if (ONLY_RESP3.includes(type)) this.#maySubscribe = false
    else if (CONFIRMATIONS.includes(String(kind))) this.#maySubscribe = true
    const isMessage = typeof kind === 'string' && PARTS[kind] === words.length
    return isMessage && (type === '>' || (type === '*' && this.#maySubscribe)) && this.#judge.drops()
  }
}
