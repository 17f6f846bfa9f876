import { WorkerProcess } from '@holdfast/testing'
import { LEASE_MS, NAME, someTime, until, when, whenLost } from './lab.mjs'
import { standStills } from './stand-stills.mjs'

const SERVICE = new URL('../../packages/core/test/redis/workers/service.worker.mjs', import.meta.url)
const impatient = { resyncInterval: 1_000, lockWatchdogTimeout: LEASE_MS }

/** A stand-still that outlasts the lease of a hold that somebody waits for. */
const outlasted = (standStill) => async (lab) => {
  const [locks, others] = [await lab.client(impatient), await lab.client(impatient)]
  const hold = await locks.getLock(NAME).acquire()
  const lost = whenLost(hold)
  const next = others.getLock(NAME).acquire({ waitMs: 20_000 })
  await lab.waited()
  await hold.extend(LEASE_MS)
  const trustedUntil = performance.now() + hold.trustedForMs
  const lookedAt = performance.now()
  const leaseEndsAt = lookedAt + (await lab.admin.pttl(NAME))
  const { over } = await standStill(lab, LEASE_MS + 300)
  const lostAt = await lost
  await over
  const overAt = performance.now()
  const nextAt = await when(next)
  return {
    'trust ends before the lease': leaseEndsAt - trustedUntil,
    'signal before the lease ends': leaseEndsAt - lostAt,
    'next owner after Redis goes on': nextAt - overAt,
  }
}

/** A lock that disappears at some time of a renewal interval. */
const gone = (remove) => async (lab) => {
  const [locks, others] = [await lab.client(impatient), await lab.client(impatient)]
  const hold = await locks.getLock(NAME).acquire()
  const lost = whenLost(hold)
  const next = others.getLock(NAME).acquire()
  await lab.waited()
  await someTime(LEASE_MS / 3)
  await remove(lab.server)
  const goneAt = performance.now()
  const [lostAt, nextAt] = await Promise.all([lost, when(next)])
  return { 'told after (a renewal interval is 500)': lostAt - goneAt, 'next owner after': nextAt - goneAt }
}

const ending = (signal) => async (lab) => {
  const leaseMs = 5_000
  const service = await WorkerProcess.start(SERVICE)
  lab.keep(() => service.kill())
  await service.call('open', lab.server.url, { lockWatchdogTimeout: leaseMs })
  await service.call('hold', [NAME])
  const next = (await lab.client(impatient)).getLock(NAME).acquire()
  await lab.waited()
  const leaseEndsAt = performance.now() + 1_200
  await lab.admin.pexpire(NAME, 1_200)
  const endedAt = performance.now()
  await (signal === 'SIGKILL' ? service.kill() : service.stop())
  const nextAt = await when(next)
  return signal === 'SIGKILL'
    ? { 'next owner after the lease ends': nextAt - leaseEndsAt }
    : { 'next owner after SIGTERM (grace 200)': nextAt - endedAt }
}

const timed = async (call) => {
  const startedAt = performance.now()
  await call().catch(() => undefined)
  return performance.now() - startedAt
}

/**
 * What is measured, by row of the table of failure modes. A run gives milliseconds by name.
 *
 * @type {[row: string, what: string, run: (lab: import('./lab.mjs').Lab) => Promise<Record<string, number>>][]}
 */
export const MEASUREMENTS = [
  [
    '7',
    'SCRIPT FLUSH',
    async (lab) => {
      const lock = (await lab.client()).getLock(NAME)
      const cycle = () => timed(async () => (await lock.acquire()).release())
      await cycle()
      const usual = await cycle()
      await lab.admin.script('FLUSH')
      return { 'one cycle': usual, 'one cycle after SCRIPT FLUSH': await cycle() }
    },
  ],
  [
    '12',
    'half-open connection, one attempt',
    async (lab) => {
      const locks = await lab.client({ commandTimeout: 500 })
      await lab.server.pause()
      return { 'ends after (commandTimeout is 500)': await timed(() => locks.getLock(NAME).tryLock()) }
    },
  ],
  [
    '15',
    'PERSIST',
    async (lab) => {
      const hold = await (await lab.client(impatient)).getLock(NAME).acquire()
      await someTime(LEASE_MS / 3)
      await lab.admin.persist(NAME)
      const persistedAt = performance.now()
      await until(async () => (await lab.admin.pttl(NAME)) > 0)
      hold.ensure()
      return { 'has a time to live again after (a renewal interval is 500)': performance.now() - persistedAt }
    },
  ],
  ['16', 'deleted, as by eviction', gone((server) => server.command('DEL', NAME))],
  [
    '17',
    'out of memory',
    async (lab) => {
      const locks = await lab.client()
      const hold = await locks.getLock(NAME).acquire()
      await lab.server.command('CONFIG', 'SET', 'maxmemory', 1)
      const refused = await timed(() => locks.getLock('another').acquire())
      return { 'acquire fails after': refused, 'release takes': await timed(() => hold.release()) }
    },
  ],
  ...Object.entries(standStills).map(([way, standStill]) => [
    way.startsWith('READONLY') ? '18, 19' : '21',
    `${way}, longer than the lease`,
    outlasted(standStill),
  ]),
  ['22', 'SIGTERM', ending('SIGTERM')],
  ['22', 'SIGKILL', ending('SIGKILL')],
  [
    '22',
    'close() of a holder',
    async (lab) => {
      const [locks, others] = [await lab.client(impatient), await lab.client(impatient)]
      await locks.getLock(NAME).acquire()
      const next = others.getLock(NAME).acquire()
      await lab.waited()
      const closedAt = performance.now()
      void locks.close({ graceMs: 0 })
      return { 'next owner after close({ graceMs: 0 })': (await when(next)) - closedAt }
    },
  ],
  [
    '27',
    'maxHoldMs 700',
    async (lab) => {
      const locks = await lab.client({ lockWatchdogTimeout: 450, maxHoldMs: 700 })
      const startedAt = performance.now()
      const hold = await locks.getLock(NAME).acquire()
      const lost = whenLost(hold)
      const next = (await lab.client(impatient)).getLock(NAME).acquire()
      const [lostAt, nextAt] = await Promise.all([lost, when(next)])
      return { 'signal after': lostAt - startedAt, 'next owner after the signal': nextAt - lostAt }
    },
  ],
  [
    '28',
    'a name with NUL, newline, braces, half an emoji',
    async (lab) => {
      const name = 'a\u0000\n}{ß😀\ud800'
      const [locks, others] = [await lab.client(), await lab.client({ resyncInterval: 20_000 })]
      const hold = await locks.getLock(name).acquire()
      const next = others.getLock(name).acquire()
      await until(async () => (await lab.admin.pubsub('CHANNELS', 'redisson*')).length === 1)
      const releasedAt = performance.now()
      await hold.release()
      return { 'woken after': (await when(next)) - releasedAt }
    },
  ],
]
