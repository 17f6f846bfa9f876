import type { Socket } from 'node:net'
import type { Wire } from './wire.js'

/** Bytes and the end of one side of a connection, as the other side gets to see it. */
export interface Traffic {
  readonly chunk: (bytes: Buffer) => void
  /** It sends no more. */
  readonly ended: () => void
  /** It is gone. */
  readonly closed: () => void
}

/** One direction of a connection: hands on what `from` does, in order, when the wire lets it through. */
export class Lane {
  readonly #wire: Wire
  #tail: Promise<void>

  /** @param ready nothing is handed on before it resolves */
  constructor(from: Socket, wire: Wire, ready: Promise<void>, traffic: Traffic) {
    this.#wire = wire
    this.#tail = ready
    from.on('data', (bytes) => this.#send(() => traffic.chunk(bytes)))
    from.on('end', () => this.#send(traffic.ended))
    from.on('close', () => this.#send(traffic.closed))
    // 'close' follows, and says enough.
    from.on('error', () => undefined)
  }

  #send(step: () => void): void {
    const sentMs = performance.now()
    const { delayMs } = this.#wire
    this.#tail = this.#tail.then(() => this.#wire.arrival(sentMs, delayMs)).then(step)
  }
}
