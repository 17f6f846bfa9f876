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
 * Reads the reply or push that starts at `offset`, RESP2 or RESP3, or gives undefined when it is not complete yet. Error
 * replies become `RedisReplyError` values, integers beyond 2^53 strings, maps lists of names and values by turns;
 * attributes stand in one list before the value that they belong to.
 *
 * @throws Error not RESP
 */
export const parseReply = (bytes: Buffer, offset = 0): Parsed | undefined => {
  const lineEnd = bytes.indexOf('\r\n', offset)
  if (lineEnd < 0) return undefined
  const line = bytes.toString('utf8', offset + 1, lineEnd)
  const next = lineEnd + 2
  const type = bytes.toString('latin1', offset, offset + 1)
  const length = (): number => {
    if (!/^(-1|\d{1,15})$/.test(line)) throw notResp(type + line)
    return Number(line)
  }
  switch (type) {
    case '+':
    case ',':
    case '(':
    case '#':
      return { value: line, next }
    case '_':
      return { value: null, next }
    case '-':
      return { value: new RedisReplyError(line), next }
    case ':':
      return { value: Number.isSafeInteger(Number(line)) ? Number(line) : line, next }
    case '$':
    case '!':
    case '=':
      return parseBulk(bytes, next, length())
    case '*':
    case '~':
    case '>':
      return parseArray(bytes, next, length())
    case '%':
      return parseArray(bytes, next, 2 * length())
    case '|':
      return parseArray(bytes, next, 2 * length() + 1)
    default:
      throw notResp(type + line)
  }
}

const notResp = (line: string): Error => new Error(`not RESP: ${JSON.stringify(line)}`)

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
