import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

// Below the ephemeral ranges of Linux and macOS. An ephemeral port could be taken by somebody's outgoing
// connection while its server restarts, and a client that reconnects meanwhile could even connect to itself.
const FIRST_PORT = 20_000
const END_PORT = 32_000

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ host: '127.0.0.1', port, exclusive: true }, () => void probe.close(() => resolve(true)))
  })

const BUS_OFFSET = 10_000

/** Processes that run at the same time have parts of their own, most of them: a server that is down for a while keeps its port. */
const PARTS = 40
let next = randomInt(END_PORT)

const choose = async (endPort: number, offsets: readonly number[]): Promise<number> => {
  const size = Math.floor((endPort - FIRST_PORT) / PARTS)
  const first = FIRST_PORT + (process.pid % PARTS) * size
  for (let attempt = 0; attempt < size; attempt += 1) {
    const port = first + (next++ % size)
    const free = await Promise.all(offsets.map((offset) => isFree(port + offset)))
    if (free.every(Boolean)) return port
  }
  throw new Error(`no free port found between ${first} and ${first + size}`)
}

/** A loopback port that nobody listens on at the moment; somebody else may still take it first. */
export const freePort = (): Promise<number> => choose(END_PORT, [0])

/** Like `freePort`, with the port of the cluster bus, 10 000 above, free and below the ephemeral range too. */
export const freeClusterPort = (): Promise<number> => choose(END_PORT - BUS_OFFSET, [0, BUS_OFFSET])
