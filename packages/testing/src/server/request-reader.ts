// @ts-expect-error -- it brings no types of its own
import untyped from 'redis-parser'

interface Parser {
  execute(bytes: Buffer): void
}
interface ParserOptions {
  /** Texts as bytes. */
  readonly returnBuffers: boolean
  readonly returnReply: (reply: unknown) => void
  readonly returnError: (error: Error) => void
  readonly returnFatalError: (error: Error) => void
}
const RedisParser = untyped as new (options: ParserOptions) => Parser

/** Bytes that one client may send before its request is complete. Redis allows a gigabyte; no lock needs a thousandth. */
const MOST_UNREAD = 16 * 1024 * 1024

/** A client that does not speak RESP, or too long. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

/**
 * Reads requests: lists of texts, of which the first is the command. Texts have a character for each byte. The parser is
 * one for replies, of which requests are one kind: all others are refused.
 */
export class RequestReader {
  private requests: string[][] = []
  private unread = 0
  private wrong = ''
  private readonly parser = new RedisParser({
    returnBuffers: true,
    returnReply: (reply) => this.take(reply),
    returnError: () => this.refuse('expected a list'),
    returnFatalError: () => this.refuse('expected a list'),
  })

  /**
   * The requests that these bytes complete.
   * @throws ProtocolError after which nothing more can be read; what these bytes have before it is not run either
   */
  read(bytes: Buffer): readonly (readonly string[])[] {
    this.requests = []
    this.unread += bytes.length
    try {
      this.parser.execute(bytes)
    } catch (error) {
      // A length that is none, or lists in lists without end.
      if (!(error instanceof RangeError || error instanceof TypeError)) {
        throw error
      }
      this.refuse('invalid length')
    }
    if (this.unread > MOST_UNREAD) {
      this.refuse(`a request has more than ${MOST_UNREAD} bytes`)
    }
    if (this.wrong !== '') {
      throw new ProtocolError(this.wrong)
    }
    return this.requests
  }

  private take(reply: unknown): void {
    this.unread = 0
    if (!Array.isArray(reply) || !reply.every((word) => Buffer.isBuffer(word))) {
      this.refuse('expected a list of texts')
    } else if (reply.length > 0) {
      this.requests.push(reply.map((word) => word.toString('latin1')))
    }
  }

  private refuse(why: string): void {
    this.wrong ||= why
  }
}
