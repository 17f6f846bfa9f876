import { setTimeout as sleep } from 'node:timers/promises'
import { until } from './lab.mjs'

const paused =
  (mode) =>
  async ({ server }, ms) => {
    await server.command('CLIENT', 'PAUSE', ms, mode)
    // A write, so it is held up as long as any of ours.
    return { over: server.command('DEL', 'nothing') }
  }

/**
 * Ways in which a Redis that is up gets to no lock for `ms`. Each resolves once that has begun.
 *
 * @type {Record<string, (lab: import('./lab.mjs').Lab, ms: number) => Promise<{ over: Promise<unknown> }>>}
 */
export const standStills = {
  SIGSTOP: async ({ server }, ms) => {
    await server.pause()
    return { over: sleep(ms).then(() => server.resume()) }
  },
  'CLIENT PAUSE ALL': paused('ALL'),
  'CLIENT PAUSE WRITE': paused('WRITE'),
  'a long script (BUSY)': async (lab, ms) => {
    const { server } = lab
    await server.command('CONFIG', 'SET', 'lua-time-limit', 10)
    const endless = lab.connection().eval('while true do end', 0)
    endless.catch(() => undefined)
    await until(async () => String(await server.command('PING').catch(String)).includes('BUSY'))
    return { over: sleep(ms).then(() => server.command('SCRIPT', 'KILL')) }
  },
  'READONLY (demoted)': async ({ server }, ms) => {
    await server.command('REPLICAOF', '127.0.0.1', 1)
    return { over: sleep(ms).then(() => server.command('REPLICAOF', 'NO', 'ONE')) }
  },
}
