import type { RedisServer } from '@holdfast/faults/harness'
import { Redis } from 'ioredis'
import { eventually, sleep } from './rig.js'

/** Makes a server stop working for about `ms`. Resolves when that has begun. */
export type StandStill = (server: RedisServer, ms: number) => Promise<{ readonly over: Promise<void> }>

/** Every way in which a Redis that is up may not get to a lock for a while. */
export const standStills: [string, StandStill][] = [
  ['a long script of somebody else (BUSY)', busy],
  ['CLIENT PAUSE WRITE', (server, ms) => pausedClients(server, ms, 'WRITE')],
  ['CLIENT PAUSE ALL', (server, ms) => pausedClients(server, ms, 'ALL')],
  ['DEBUG SLEEP', asleep],
  ['SIGSTOP', stopped],
]

/** Without an end, until SCRIPT KILL: everybody is answered BUSY meanwhile. */
async function busy(server: RedisServer, ms: number): Promise<{ over: Promise<void> }> {
  const connection = new Redis(server.url, { retryStrategy: () => null })
  await connection.config('SET', 'lua-time-limit', '10')
  const startedAt = performance.now()
  const endless = connection.eval('while true do end', 0).catch((error: unknown) => error)
  await eventually(async () => String(await server.command('PING').catch(String)).includes('BUSY'))
  const end = async (): Promise<void> => {
    await sleep(startedAt + ms - performance.now())
    await server.command('SCRIPT', 'KILL')
    await endless
    connection.disconnect()
  }
  return { over: end() }
}

async function pausedClients(
  server: RedisServer,
  ms: number,
  mode: string,
): Promise<{ over: Promise<void> }> {
  await server.command('CLIENT', 'PAUSE', ms, mode)
  // A write, so it is held up as long as any of ours.
  return { over: server.command('DEL', 'nothing').then(() => undefined) }
}

async function asleep(server: RedisServer, ms: number): Promise<{ over: Promise<void> }> {
  let awake = false
  const over = server.command('DEBUG', 'SLEEP', ms / 1_000).then(() => void (awake = true))
  await eventually(async () => {
    const ping = server.command('PING').then(() => awake)
    return await Promise.race([ping, sleep(50).then(() => true)])
  })
  return { over }
}

async function stopped(server: RedisServer, ms: number): Promise<{ over: Promise<void> }> {
  await server.pause()
  return { over: sleep(ms).then(() => server.resume()) }
}
