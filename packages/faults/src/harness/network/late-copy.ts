import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Endpoint } from './round-trip.js'

interface Delivery {
  /** ms, or what must have happened before. */
  readonly after: number | Promise<unknown>
  /** Ends a delivery that is still to come. */
  readonly signal: AbortSignal
}

/** Sends the bytes late, on a connection of their own; resolves when the server has dealt with them. */
export const deliverCopy = async (target: Endpoint, bytes: Buffer, delivery: Delivery): Promise<void> => {
  const { after, signal } = delivery
  await (typeof after === 'number' ? sleep(after, undefined, { signal }) : after)
  await new Promise<void>((resolve, reject) => {
    const socket = connect({ ...target, noDelay: true, allowHalfOpen: true, signal })
    socket.write(bytes)
    let answered = false
    socket.on('data', () => {
      answered = true
      // The server closes when it has dealt with all that came before this end.
      socket.end()
    })
    socket.on('error', reject)
    socket.on('close', () => {
      if (answered) resolve()
      else reject(new Error('the server closed the connection of a late copy without an answer'))
    })
  })
}
