// Measures what docs/reliability.md says of each failure: on a server of its own, several times, as a table.
import { LockClient } from '@holdfast/core'
import type { RedisServer } from '@holdfast/faults/harness'
import { count, text } from '../run/options.js'
import { defineScenario, type Roles } from '../run/scenario.js'
import { median, table } from '../run/table.js'
import { Lab, NAME, STAND_STILLS, timed, until, when, whenLost, type StandStill } from './failures/lab.js'

/** A lease of which the margin, the renewal and the end are well apart, and that is soon over. */
const LEASE_MS = 1_500
const OPTIONS = { resyncInterval: 1_000, lockWatchdogTimeout: LEASE_MS }

/** Milliseconds by name. */
type Measure = (lab: Lab) => Promise<Record<string, number>>

export const failures = defineScenario({
  name: 'failures',
  summary: 'How long each failure of the table in docs/reliability.md keeps its promises, in milliseconds.',
  options: {
    rounds: count(20, 'how often each is measured', { most: 1_000 }),
    only: text('measures only the failures with this in their names'),
  },
  smoke: '--rounds 1',
  long: '',

  async run({ options: { rounds, only }, interrupted, random, fleet, progress }) {
    const rows: string[][] = []
    const violations: string[] = []
    for (const { row, what, measure } of MEASUREMENTS.filter((each) => each.what.includes(only))) {
      progress(`${row}: ${what}`)
      const values = new Map<string, number[]>()
      for (let round = 0; round < rounds; round += 1) {
        interrupted.throwIfAborted()
        const lab = await Lab.open({ random, fleet })
        try {
          for (const [name, ms] of Object.entries(await measure(lab)))
            values.set(name, [...(values.get(name) ?? []), ms])
        } catch (error) {
          violations.push(`${what}, round ${round + 1}: ${String(error)}`)
        } finally {
          await lab.close()
        }
      }
      for (const [name, all] of values) {
        const figures = [Math.min(...all), median(all), Math.max(...all)].map((ms) => ms.toFixed(1))
        rows.push([row, what, name, ...figures])
      }
    }
    return {
      figures: rows,
      report: table([['row', 'failure', `ms, of ${rounds}`, 'least', 'median', 'most'], ...rows]),
      violations,
    }
  },

  worker(): Roles {
    let locks: LockClient
    process.on('SIGTERM', () => {
      void locks.close({ graceMs: 200 }).then(() => process.exit(0))
    })
    return {
      async begin({ url, leaseMs }: { url: string; leaseMs: number }) {
        locks = await LockClient.connect(url, { lockWatchdogTimeout: leaseMs, bareCalls: 'allow' })
      },
      async hold(name: string) {
        await locks.getLock(name).acquire()
      },
    }
  },
})

/** A stand-still that outlasts the lease of a hold that another client waits for. */
const outlasted =
  (begin: StandStill): Measure =>
  async (lab) => {
    const [locks, others] = [await lab.client(OPTIONS), await lab.client(OPTIONS)]
    const hold = await locks.getLock(NAME).acquire()
    const lost = whenLost(hold)
    const next = others.getLock(NAME).acquire({ waitMs: 20_000 })
    await lab.waited()
    await hold.extend(LEASE_MS)
    const trustedUntil = performance.now() + hold.trustedForMs
    const lookedAt = performance.now()
    const leaseEndsAt = lookedAt + (await lab.admin.pttl(NAME))
    const { over } = await begin(lab, LEASE_MS + 300)
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
const gone =
  (remove: (server: RedisServer) => Promise<unknown>): Measure =>
  async (lab) => {
    const [locks, others] = [await lab.client(OPTIONS), await lab.client(OPTIONS)]
    const hold = await locks.getLock(NAME).acquire()
    const lost = whenLost(hold)
    const next = others.getLock(NAME).acquire()
    await lab.waited()
    await lab.someTime(LEASE_MS / 3)
    await remove(lab.server)
    const goneAt = performance.now()
    const [lostAt, nextAt] = await Promise.all([lost, when(next)])
    return {
      'told after (a renewal interval is 500)': lostAt - goneAt,
      'next owner after': nextAt - goneAt,
    }
  }

/** A process that ends while it holds a lock. */
const ending =
  (signal: 'SIGTERM' | 'SIGKILL'): Measure =>
  async (lab) => {
    const { process } = await lab.service(5_000)
    await process.call('hold', NAME)
    const next = (await lab.client(OPTIONS)).getLock(NAME).acquire()
    await lab.waited()
    const leaseEndsAt = performance.now() + 1_200
    await lab.admin.pexpire(NAME, 1_200)
    const endedAt = performance.now()
    await (signal === 'SIGKILL' ? process.kill() : process.stop())
    const nextAt = await when(next)
    return signal === 'SIGKILL'
      ? { 'next owner after the lease ends': nextAt - leaseEndsAt }
      : { 'next owner after SIGTERM (grace 200)': nextAt - endedAt }
  }

const afterScriptFlush: Measure = async (lab) => {
  const lock = (await lab.client()).getLock(NAME)
  const cycle = (): Promise<number> => timed(async () => (await lock.acquire()).release())
  await cycle()
  const usual = await cycle()
  await lab.admin.script('FLUSH')
  return { 'one cycle': usual, 'one cycle after SCRIPT FLUSH': await cycle() }
}

const onHalfOpenConnection: Measure = async (lab) => {
  const locks = await lab.client({ commandTimeout: 500 })
  await lab.server.pause()
  return { 'ends after (commandTimeout is 500)': await timed(() => locks.getLock(NAME).tryLock()) }
}

const persisted: Measure = async (lab) => {
  const hold = await (await lab.client(OPTIONS)).getLock(NAME).acquire()
  await lab.someTime(LEASE_MS / 3)
  await lab.admin.persist(NAME)
  const persistedAt = performance.now()
  await until('it has a time to live', async () => (await lab.admin.pttl(NAME)) > 0)
  hold.ensure()
  return {
    'has a time to live again after (a renewal interval is 500)': performance.now() - persistedAt,
  }
}

const outOfMemory: Measure = async (lab) => {
  const locks = await lab.client()
  const hold = await locks.getLock(NAME).acquire()
  await lab.server.command('CONFIG', 'SET', 'maxmemory', 1)
  const refused = await timed(() => locks.getLock('another').acquire())
  return { 'acquire fails after': refused, 'release takes': await timed(() => hold.release()) }
}

const closed: Measure = async (lab) => {
  const [locks, others] = [await lab.client(OPTIONS), await lab.client(OPTIONS)]
  await locks.getLock(NAME).acquire()
  const next = others.getLock(NAME).acquire()
  await lab.waited()
  const closedAt = performance.now()
  void locks.close({ graceMs: 0 })
  return { 'next owner after close({ graceMs: 0 })': (await when(next)) - closedAt }
}

const heldTooLong: Measure = async (lab) => {
  const locks = await lab.client({ lockWatchdogTimeout: 450, maxHoldMs: 700 })
  const startedAt = performance.now()
  const hold = await locks.getLock(NAME).acquire()
  const lost = whenLost(hold)
  const next = (await lab.client(OPTIONS)).getLock(NAME).acquire()
  const [lostAt, nextAt] = await Promise.all([lost, when(next)])
  return { 'signal after': lostAt - startedAt, 'next owner after the signal': nextAt - lostAt }
}

const oddlyNamed: Measure = async (lab) => {
  const name = 'a\u0000\n}{ß😀\ud800'
  const [locks, others] = [await lab.client(), await lab.client({ resyncInterval: 20_000 })]
  const hold = await locks.getLock(name).acquire()
  const next = others.getLock(name).acquire()
  await until('a client waits', async () => (await lab.admin.pubsub('CHANNELS', 'redisson*')).length === 1)
  const releasedAt = performance.now()
  await hold.release()
  return { 'woken after': (await when(next)) - releasedAt }
}

/** By row of the table of failure modes. */
const MEASUREMENTS: readonly { readonly row: string; readonly what: string; readonly measure: Measure }[] = [
  { row: '7', what: 'SCRIPT FLUSH', measure: afterScriptFlush },
  { row: '12', what: 'half-open connection, one attempt', measure: onHalfOpenConnection },
  { row: '15', what: 'PERSIST', measure: persisted },
  { row: '16', what: 'deleted, as by eviction', measure: gone((server) => server.command('DEL', NAME)) },
  { row: '17', what: 'out of memory', measure: outOfMemory },
  ...STAND_STILLS.map(({ row, way, begin }) => ({
    ...{ row, what: `${way}, longer than the lease`, measure: outlasted(begin) },
  })),
  { row: '22', what: 'SIGTERM', measure: ending('SIGTERM') },
  { row: '22', what: 'SIGKILL', measure: ending('SIGKILL') },
  { row: '22', what: 'close() of a holder', measure: closed },
  { row: '27', what: 'maxHoldMs 700', measure: heldTooLong },
  { row: '28', what: 'a name with NUL, newline, braces, half an emoji', measure: oddlyNamed },
]
