import { Buffer } from 'node:buffer'
import { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

/**
 * @typedef {object} TraceEvent
 * @property {number} at ms
 * @property {'write' | 'read'} what
 * @property {number} bytes
 * @property {number} count commands in a write, replies in a read
 * @property {number} sleptMs for how long the event loop slept before it
 */

const COMMAND = /\*\d+\r\n\$/g
/** A number, a simple text or an error; the length of a longer text, which comes before it; the length of a list. */
const REPLY = /^[:+\-$*]/gm

const countIn = (bytes, pattern) => bytes.toString('latin1').match(pattern)?.length ?? 0

/**
 * Records what the connections of this process write and read from now on, and how long the event loop sleeps before.
 * Each event costs a microsecond or two, so figures of a trace are read beside each other only.
 *
 * @returns {{ stop: () => TraceEvent[] }}
 */
export const record = () => {
  const events = []
  let idleMs = performance.eventLoopUtilization().idle
  const note = (what, bytes, pattern) => {
    const { idle } = performance.eventLoopUtilization()
    const sleptMs = idle - idleMs
    idleMs = idle
    events.push({
      at: performance.now(),
      what,
      bytes: bytes.length,
      count: countIn(bytes, pattern),
      sleptMs,
    })
  }
  const { _write, _writev, push } = Socket.prototype
  Object.assign(Socket.prototype, {
    _write(chunk, encoding, done) {
      note('write', bytesOf({ chunk, encoding }), COMMAND)
      return _write.call(this, chunk, encoding, done)
    },
    _writev(chunks, done) {
      note('write', Buffer.concat(chunks.map(bytesOf)), COMMAND)
      return _writev.call(this, chunks, done)
    },
    // Inherited: what the socket reads comes this way.
    push(chunk, ...more) {
      if (chunk) note('read', chunk, REPLY)
      return push.call(this, chunk, ...more)
    },
  })
  return {
    stop() {
      Object.assign(Socket.prototype, { _write, _writev })
      delete Socket.prototype.push
      return events
    },
  }
}

const bytesOf = ({ chunk, encoding }) => (Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk, encoding))
