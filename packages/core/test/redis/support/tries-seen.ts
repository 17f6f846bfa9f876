import type { Cluster, Redis } from 'ioredis'
import { once } from 'node:events'
import { connect } from 'node:net'
import { batchScript } from '../../../src/redis/batch.js'
import { acquireScript } from '../../../src/scripts/lock.js'

/** Longer than the longest pause of a waiter that has the default back-off. */
const WATCHED_MS = 250
const TRIES = [acquireScript.sha1, batchScript.sha1]

/**
 * Redis knows of nobody who waits for a spin lock. So it is watched: how often somebody asks for it in a while.
 * Over a bare socket: a MONITOR of ioredis fails when the first line comes together with its answer.
 */
export async function triesSeen(redis: Redis, name: string): Promise<number> {
  const nodes = redis.isCluster ? (redis as unknown as Cluster).nodes('master') : [redis]
  const tries = await Promise.all(nodes.map((node) => triesAt(node, name)))
  return tries.reduce((sum, each) => sum + each, 0)
}

async function triesAt({ stream }: Redis, name: string): Promise<number> {
  // Where it is connected to: Sentinel knows better than the options.
  const { remoteAddress = '127.0.0.1', remotePort = 6379 } = stream
  const socket = connect(remotePort, remoteAddress)
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  await once(socket, 'connect')
  socket.write('MONITOR\r\n')
  await new Promise((resolve) => setTimeout(resolve, WATCHED_MS))
  socket.destroy()
  const lines = text.split('\r\n').filter((line) => line.includes(`"${name}"`))
  return lines.filter((line) => TRIES.some((sha1) => line.includes(sha1))).length
}
