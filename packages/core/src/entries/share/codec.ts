import { InvalidArgumentError } from '../../index.js'
import { wellFormed } from '../door.js'

/** How a result becomes text and is read again, in another process and perhaps by another version of the program. */
export interface ShareCodec<T> {
  /** Makes the text that is stored in Redis as it is: seal it here if it is a secret. */
  encode(value: T): string | Promise<string>
  /** Reads what `encode` has made. */
  decode(text: string): T | Promise<T>
}

/** JSON; `undefined`, which JSON does not have, is an empty text. */
export const JSON_CODEC: ShareCodec<unknown> = {
  encode(value) {
    if (value === undefined) {
      return ''
    }
    const text = JSON.stringify(value) as string | undefined
    if (text === undefined) {
      throw new TypeError(`JSON has no ${typeof value}`)
    }
    return text
  },
  decode: (text): unknown => (text === '' ? undefined : JSON.parse(text)),
}

/**
 * The text of a result, as it may be stored.
 * @throws InvalidArgumentError it is no text, or longer than `maxBytes`, or encoding failed
 */
export async function encoded<T>(codec: ShareCodec<T>, value: T, maxBytes: number): Promise<string> {
  let text: unknown
  try {
    text = await codec.encode(value)
  } catch (error) {
    throw notEncoded(value, error instanceof Error ? error.message : String(error))
  }
  if (typeof text !== 'string' || wellFormed(text) !== text) {
    throw notEncoded(value, 'encode() must return well-formed text')
  }
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) {
    const rule = `at most ${maxBytes} bytes once encoded (maxBytes)`
    const message = `The result of a shared run must be ${rule}, and has ${bytes}: share a reference to it instead.`
    throw new InvalidArgumentError('result', bytes, rule, message)
  }
  return text
}

/** Without the value: a message is logged, and a result may be a secret. */
function notEncoded(value: unknown, why: string): InvalidArgumentError {
  const rule = 'JSON, or what the codec can encode'
  return new InvalidArgumentError(
    'result',
    value,
    rule,
    `The result of a shared run must be ${rule}: ${why}.`,
  )
}
