import { createServer, connect } from 'node:net'
import { fromPath } from '../../scripts/redis/from-path.mjs'

/**
 * A Redis that may be stopped in front of its clients: a server of its own where there is a program for one, else
 * the line to the demo's, which is cut.
 *
 * @param {string} redisUrl of the demo
 * @returns {Promise<{ url: string, how: string, stop: () => Promise<void> }>} `stop` may be called twice
 */
export const stoppableRedis = async (redisUrl) => {
  const server = await fromPath()
  if (!server) return cuttableLine(redisUrl)
  let stopping
  return { url: server.url, how: 'its server is stopped', stop: () => (stopping ??= server.stop()) }
}

const cuttableLine = async (redisUrl) => {
  const { hostname, port } = new URL(redisUrl)
  const sockets = new Set()
  const line = createServer((near) => {
    const far = connect(Number(port || 6379), hostname)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ]) {
      sockets.add(one)
      one.pipe(other)
      one.on('error', () => undefined)
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
  })
  await new Promise((resolve) => line.listen(0, '127.0.0.1', resolve))
  const url = new URL(redisUrl)
  url.host = `127.0.0.1:${line.address().port}`
  const stop = async () => {
    line.close()
    for (const socket of sockets) socket.destroy()
  }
  return { url: String(url), how: 'the line to it is cut', stop }
}
