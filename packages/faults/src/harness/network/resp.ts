/** An error that Redis answered, with Redis' own text as its message. */
export class RedisReplyError extends Error {
  override readonly name = 'RedisReplyError'
}

/** One command as RESP bytes. */
export const encodeCommand = (args: readonly (string | number | Buffer)[]): Buffer => {
  const bulks = args.flatMap((arg) => {
    const bytes = Buffer.isBuffer(arg) ? arg : Buffer.from(String(arg))
    return [Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]
  })
  return Buffer.concat([Buffer.from(`*${args.length}\r\n`), ...bulks])
}

interface Parsed {
  readonly value: unknown
  readonly next: number
}

/**
 * Reads the RESP2 reply that starts at `offset`, or gives undefined when it is not complete yet.
 * Error replies become `RedisReplyError` values, integers beyond 2^53 become strings.
 */
export const parseReply = (bytes: Buffer, offset = 0): Parsed | undefined => {
  const lineEnd = bytes.indexOf('\r\n', offset)
  if (lineEnd < 0) return undefined
  const line = bytes.toString('utf8', offset + 1, lineEnd)
  const next = lineEnd + 2
  const type = bytes.toString('latin1', offset, offset + 1)
  switch (type) {
    case '+':
      return { value: line, next }
    case '-':
      return { value: new RedisReplyError(line), next }
    case ':':
      return { value: Number.isSafeInteger(Number(line)) ? Number(line) : line, next }
    case '$':
      return parseBulk(bytes, next, Number(line))
    case '*':
      return parseArray(bytes, next, Number(line))
    default:
      throw new Error(`not a RESP2 reply: ${JSON.stringify(type + line)}`)
  }
}

const parseBulk = (bytes: Buffer, start: number, length: number): Parsed | undefined => {
  if (length < 0) return { value: null, next: start }
  const end = start + length
  return bytes.length < end + 2 ? undefined : { value: bytes.toString('utf8', start, end), next: end + 2 }
}

const parseArray = (bytes: Buffer, start: number, length: number): Parsed | undefined => {
  if (length < 0) return { value: null, next: start }
  const values: unknown[] = []
  let next = start
  while (values.length < length) {
    const parsed = parseReply(bytes, next)
    if (parsed === undefined) return undefined
    values.push(parsed.value)
    next = parsed.next
  }
  return { value: values, next }
}

const LINES = '+-:_,#('
const PAYLOADS = '$!='
const LF = 0x0a
// A type and a length fit; of longer lines only the end matters.
const LONGEST_LENGTH_LINE = 32

/** How many values follow the head of an aggregate, or undefined for other types. */
const valuesIn = (type: string, length: number): number | undefined => {
  switch (type) {
    case '*':
    case '~':
    case '>':
      return length
    case '%':
      return 2 * length
    case '|': // Attributes, and then the value that they belong to.
      return 2 * length + 1
    default:
      return undefined
  }
}

/** Finds the end of one reply or push, RESP2 or RESP3, in bytes that come in pieces. It keeps none of them. */
export class RespFrame {
  /** Values that are still to come; a nested one counts when its parent's head has been read. */
  #values = 1
  /** Bytes of the present bulk that are still to come, its line end included. */
  #payload = 0
  #line = ''

  get complete(): boolean {
    return this.#values === 0 && this.#payload === 0
  }

  /**
   * Reads on from `offset`. Gives where it stopped: behind the frame, or at the end of the bytes.
   * @throws Error not RESP
   */
  read(bytes: Buffer, offset: number): number {
    let at = offset
    while (!this.complete && at < bytes.length) {
      const skipped = Math.min(this.#payload, bytes.length - at)
      this.#payload -= skipped
      at = skipped > 0 ? at + skipped : this.#readLine(bytes, at)
    }
    return at
  }

  #readLine(bytes: Buffer, start: number): number {
    const lineFeed = bytes.indexOf(LF, start)
    const end = lineFeed < 0 ? bytes.length : lineFeed + 1
    const room = LONGEST_LENGTH_LINE - this.#line.length
    this.#line += bytes.toString('latin1', start, Math.min(end, start + room))
    const type = this.#line.charAt(0)
    if (!LINES.includes(type)) this.#readHead(type, lineFeed >= 0)
    else if (lineFeed >= 0) this.#ended()
    return end
  }

  #readHead(type: string, ended: boolean): void {
    const known = PAYLOADS.includes(type) || valuesIn(type, 0) !== undefined
    // A bad length is told at once: the rest of the line may never come.
    const head = (ended ? /^.(-1|\d{1,15})\r\n$/ : /^.(-|-1\r?|\d{0,15}|\d{1,15}\r)$/).exec(this.#line)
    if (!known || head === null) throw new Error(`not RESP: ${JSON.stringify(this.#line)}`)
    if (!ended) return
    this.#ended()
    const length = Number(head[1])
    const values = valuesIn(type, Math.max(length, 0))
    if (values !== undefined) this.#values += values
    else if (length >= 0) this.#payload = length + 2
  }

  #ended(): void {
    this.#values -= 1
    this.#line = ''
  }
}
