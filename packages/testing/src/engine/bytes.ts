// Inside the engine a text has a character for each byte, so that it can be cut, compared and matched as Redis does.

const NOT_ASCII = /[^\x00-\x7f]/ // eslint-disable-line no-control-regex -- all of ASCII

/** A text of JavaScript, or bytes, as the engine has them. */
export function toBytes(value: string | Uint8Array): string {
  if (typeof value !== 'string') {
    if (!ArrayBuffer.isView(value)) {
      throw new TypeError(`a name or argument must be text or bytes, but is ${String(value)}`)
    }
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1')
  }
  return NOT_ASCII.test(value) ? Buffer.from(value, 'utf8').toString('latin1') : value
}

/** Bytes of the engine as a text of JavaScript. */
export function fromBytes(bytes: string): string {
  return NOT_ASCII.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes
}
