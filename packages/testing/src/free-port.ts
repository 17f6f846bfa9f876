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

/** A loopback port that nobody listens on at the moment; somebody else may still take it first. */
export const freePort = async (): Promise<number> => {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(FIRST_PORT, END_PORT)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port found between ${FIRST_PORT} and ${END_PORT}`)
}
