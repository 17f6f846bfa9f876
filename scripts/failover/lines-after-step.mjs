import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient } from '@holdfast/core'
import { FaultProxy } from '@holdfast/testing'
import { Redis } from 'ioredis'

const RESYNC_MS = 1_000
const LIMIT_MS = 10_000

/** What waits, and how. `dead` waits with a client that is stopped before the step, `living` with two that go on. */
const KINDS = {
  'fair lock': {
    hold: (client) => client.getFairLock('fair').acquire(),
    dead: (client) => client.getFairLock('fair').acquire(),
    living: (client) => client.getFairLock('fair').withLock(() => undefined),
    waiting: (server) => server.command('ZCARD', 'holdfast:arrivals:{fair}'),
  },
  'plain lock': {
    hold: (client) => client.getLock('plain').acquire(),
    dead: (client) => client.getLock('plain').acquire(),
    living: (client) => client.getLock('plain').withLock(() => undefined),
    waiting: (server) => server.command('ZCOUNT', 'holdfast:line:{plain}', '0', '+inf'),
  },
}

/**
 * Sets the clock of a Redis back while a dead and two living clients wait: when do the living have their turns?
 *
 * @param {{ server: import('@holdfast/testing').RedisServer, step: (seconds: number) => Promise<void> }} stepped
 * @param {number} seconds
 * @param {{ allowanceMs: number, signal: AbortSignal }} promised
 * @returns {Promise<{ text: string, broken: number }>}
 */
export const observeLines = async ({ server, step }, seconds, { allowanceMs, signal }) => {
  const proxy = await FaultProxy.start(server)
  const connections = [server, proxy, server, server].map(
    ({ port }) => new Redis({ host: '127.0.0.1', port }),
  )
  const options = { resyncInterval: RESYNC_MS, bareCalls: 'allow' }
  const clients = await Promise.all(connections.map((redis) => LockClient.connect(redis, options)))
  const [holder, dead, ...others] = clients
  try {
    const started = []
    for (const [name, kind] of Object.entries(KINDS)) {
      const hold = await kind.hold(holder)
      kind.dead(dead).catch(() => undefined)
      await reached(() => kind.waiting(server), 1, signal)
      const served = []
      for (const [i, client] of others.entries()) {
        served.push(kind.living(client).then(() => performance.now()))
        await reached(() => kind.waiting(server), i + 2, signal)
      }
      started.push({ name, hold, served })
    }
    proxy.blackHole()
    await step(seconds)
    const results = await Promise.all(started.map((each) => outcomeOf(each, signal)))
    const limitMs = 2 * RESYNC_MS + allowanceMs
    const lines = results.map(
      ({ name, tookMs }) =>
        `  ${name.padEnd(15)} the living have it ${tookMs.map(inWords).join(', ')} after the release`,
    )
    return {
      text: [`the clock of Redis goes ${-seconds} s back while a dead client waits in front`, ...lines].join(
        '\n',
      ),
      broken: results.filter(({ tookMs }) => !tookMs.every((ms) => ms <= limitMs)).length,
    }
  } finally {
    proxy.pass()
    await Promise.all(clients.map((client) => client.close({ graceMs: 0 })))
    connections.forEach((redis) => redis.disconnect())
    await proxy.stop()
  }
}

const outcomeOf = async ({ name, hold, served }, signal) => {
  const releasedAt = performance.now()
  await hold.release()
  const limit = sleep(LIMIT_MS, undefined, { signal, ref: false })
  const tookMs = served.map(async (turn) => {
    const at = await Promise.race([turn, limit])
    return at === undefined ? Number.POSITIVE_INFINITY : at - releasedAt
  })
  for (const turn of served) turn.catch(() => undefined)
  return { name, tookMs: await Promise.all(tookMs) }
}

const inWords = (ms) => (ms === Number.POSITIVE_INFINITY ? 'never' : `${Math.round(ms)} ms`)

const reached = async (count, wanted, signal) => {
  while (Number(await count()) < wanted) {
    signal.throwIfAborted()
    await sleep(5)
  }
}
