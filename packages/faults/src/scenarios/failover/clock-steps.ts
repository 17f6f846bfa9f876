import { setTimeout as sleep } from 'node:timers/promises'
import type { LockClient, LockHold } from '@holdfast/core'
import { FaultProxy, type RedisServer } from '@holdfast/faults/harness'
import { after, inMs, withClients, type Finding } from './clients.js'
import { startSteppedServer, type SteppedServer } from './stepped-clock.js'

const HOUR_S = 3_600

interface Promised {
  readonly leaseMs: number
  readonly allowanceMs: number
  readonly signal: AbortSignal
}

type Observe = (stepped: SteppedServer, seconds: number, promised: Promised) => Promise<Finding>

/** Sets the clock of a Redis forward and back while locks are held and others wait. */
export const stepClocks = async (promised: Promised): Promise<Finding> => {
  const steps: { seconds: number; observe: Observe }[] = [
    { seconds: HOUR_S, observe: observeHolder },
    { seconds: -HOUR_S, observe: observeHolder },
    { seconds: HOUR_S, observe: observeOverlap },
    { seconds: -HOUR_S, observe: observeLines },
    { seconds: -20, observe: observeLines },
  ]
  const findings: Finding[] = []
  for (const { seconds, observe } of steps) {
    promised.signal.throwIfAborted()
    const stepped = await startSteppedServer()
    if (!stepped) return { lines: ["clock of Redis: not run, 'faketime' is not installed"], violations: [] }
    try {
      findings.push(await observe(stepped, seconds, promised))
    } finally {
      await stepped.stop()
    }
  }
  return {
    lines: findings.flatMap(({ lines }) => lines),
    violations: findings.flatMap(({ violations }) => violations),
  }
}

// A lock that is held while the clock steps, and another client that waits for it.

const STEP_LIMIT_MS = 3_000
const FIXED_LEASE_MS = 2_000

interface Outcome {
  takenMs: number | null
  toldMs: number | null
  reason: string | null
}

const observeHolder: Observe = ({ server, step }, seconds, { leaseMs, allowanceMs, signal }) => {
  const each = { port: server.port, options: { lockWatchdogTimeout: leaseMs } }
  return withClients([each, each], async (clients) => {
    const [holder, rival] = clients as [LockClient, LockClient]
    const watched = await holder.getLock('watched').acquire()
    const fixed = await holder.getLock('fixed').acquire({ leaseMs: FIXED_LEASE_MS })
    const [nextOfWatched, nextOfFixed] = [
      rival.getLock('watched').acquire(),
      rival.getLock('fixed').acquire(),
    ]
    // The line is formed: a caller that comes later would not have slept at the old time.
    await sleep(leaseMs / 6)
    const before = await clockOf(server)
    await step(seconds)
    const steppedAt = performance.now()
    const movedS = Math.round((await clockOf(server)) - before)
    if (movedS !== seconds) throw new Error(`the clock of Redis moved by ${movedS} s, not by ${seconds} s`)
    const ttlMs = Number(await server.command('PTTL', 'watched'))
    const limit = sleep(STEP_LIMIT_MS, undefined, { signal, ref: false })
    const outcomes = await Promise.all([
      outcomeOf(watched, nextOfWatched, { steppedAt, limit }),
      outcomeOf(fixed, nextOfFixed, { steppedAt, limit }),
    ])
    return seconds > 0
      ? forward(outcomes, leaseMs / 3 + allowanceMs)
      : back(outcomes, { ttlMs, watched, taking: nextOfWatched })
  })
}

const clockOf = async (server: RedisServer): Promise<number> =>
  Number(((await server.command('TIME')) as string[])[0])

const outcomeOf = async (
  hold: LockHold,
  taking: Promise<LockHold>,
  { steppedAt, limit }: { steppedAt: number; limit: Promise<void> },
): Promise<Outcome> => {
  const seen: Outcome = { takenMs: null, toldMs: null, reason: null }
  const since = (): number => performance.now() - steppedAt
  const taken = taking.then(
    () => (seen.takenMs = since()),
    () => undefined,
  )
  const told = aborted(hold).then(() => {
    seen.toldMs = since()
    seen.reason = hold.lossError?.reason ?? null
  })
  await Promise.race([Promise.all([taken, told]), limit])
  return { ...seen }
}

const aborted = ({ signal }: LockHold): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))

const said = ({ toldMs, takenMs, reason }: Outcome): string =>
  `the next has it ${after(takenMs)}, the holder is told ${after(toldMs)}${reason === null ? '' : ` (${reason})`}`

const forward = ([watched, fixed]: readonly [Outcome, Outcome], limitMs: number): Finding => ({
  lines: [
    'the clock of Redis goes 1 h forward while a lock is held',
    `  renewed         ${said(watched)}`,
    `  fixed lease     ${said(fixed)}; ${FIXED_LEASE_MS} ms from its acquire`,
  ],
  violations: [
    ...(watched.toldMs === null || watched.toldMs > limitMs
      ? [
          `I3 the holder was told ${after(watched.toldMs)} that a clock ended its lock; promised: ${limitMs} ms`,
        ]
      : []),
    ...(watched.takenMs === null ? ['I4 a lock that a clock had ended was not taken'] : []),
  ],
})

const back = async (
  [renewed, fixed]: readonly [Outcome, Outcome],
  { ttlMs, watched, taking }: { ttlMs: number; watched: LockHold; taking: Promise<unknown> },
): Promise<Finding> => {
  const isKept = !watched.signal.aborted && renewed.takenMs === null
  const releasedAt = performance.now()
  const outcome = await watched.release()
  await taking
  return {
    lines: [
      'the clock of Redis goes 1 h back while a lock is held',
      `  renewed         ${said(renewed)}, within ${STEP_LIMIT_MS} ms; its time to live was ${Math.round(ttlMs / 1_000)} s`,
      `                  ${outcome}; the next has it ${after(performance.now() - releasedAt)}`,
      `  fixed lease     ${said(fixed)}; ${FIXED_LEASE_MS} ms from its acquire`,
    ],
    violations: [
      ...(isKept ? [] : ['I1 a renewed lock was lost when the clock of Redis went back']),
      ...(outcome === 'released' ? [] : [`I1 its release said '${outcome}' when the clock had gone back`]),
    ],
  }
}

// A lock that another client takes at once: for how long does the former holder believe in it, beside the next one?

const OVERLAP_LEASE_MS = 3_000
const OVERLAP_FIXED_MS = 8_000

const observeOverlap: Observe = ({ server, step }, seconds, { allowanceMs }) => {
  const each = { port: server.port, options: { lockWatchdogTimeout: OVERLAP_LEASE_MS } }
  return withClients([each, each], async (clients) => {
    const [holder, next] = clients as [LockClient, LockClient]
    const renewed = await holder.getLock('renewed').acquire()
    const fixed = await holder.getLock('fixed').acquire({ leaseMs: OVERLAP_FIXED_MS })
    await step(seconds)
    const [renewedMs, fixedMs] = await Promise.all([beliefBeside(renewed, next), beliefBeside(fixed, next)])
    const beliefs = [
      {
        what: `renewed, lease of ${OVERLAP_LEASE_MS} ms`,
        ms: renewedMs,
        mostMs: OVERLAP_LEASE_MS / 3 + allowanceMs,
      },
      { what: `fixed lease of ${OVERLAP_FIXED_MS} ms`, ms: fixedMs, mostMs: OVERLAP_FIXED_MS },
    ]
    return {
      lines: [
        `the clock of Redis goes ${seconds} s forward, and the next comes at once`,
        ...beliefs.map(
          ({ what, ms }) => `  ${what.padEnd(27)} believed in for ${inMs(ms)} beside the next holder`,
        ),
      ],
      violations: beliefs
        .filter(({ ms, mostMs }) => ms > mostMs)
        .map(
          ({ what, ms, mostMs }) =>
            `I3 ${what}: believed in for ${inMs(ms)} beside the next; promised: ${mostMs} ms`,
        ),
    }
  })
}

const beliefBeside = async (hold: LockHold, next: LockClient): Promise<number> => {
  const told = aborted(hold)
  await next.getLock(hold.lockName).acquire()
  const takenAt = performance.now()
  if (!hold.signal.aborted) await told
  return performance.now() - takenAt
}

// Lines in which a dead client waits in front of two living ones when the clock goes back.

const RESYNC_MS = 1_000
const LINE_LIMIT_MS = 10_000

/** How each kind of lock is held and waited for, and how many wait for it in Redis. */
const KINDS = {
  'fair lock': {
    lock: (client: LockClient) => client.getFairLock('fair'),
    waiting: (server: RedisServer) => server.command('ZCARD', 'holdfast:arrivals:{fair}'),
  },
  'plain lock': {
    lock: (client: LockClient) => client.getLock('plain'),
    waiting: (server: RedisServer) => server.command('ZCOUNT', 'holdfast:line:{plain}', '0', '+inf'),
  },
}

const observeLines: Observe = async ({ server, step }, seconds, { allowanceMs, signal }) => {
  const proxy = await FaultProxy.start(server)
  const ports = [server, proxy, server, server].map(({ port }) => port)
  const options = { resyncInterval: RESYNC_MS }
  try {
    return await withClients(
      ports.map((port) => ({ port, options })),
      async (clients) => {
        try {
          const [holder, dead, ...living] = clients as [LockClient, LockClient, ...LockClient[]]
          const started: { name: string; hold: LockHold; served: Promise<number>[] }[] = []
          for (const [name, { lock, waiting }] of Object.entries(KINDS)) {
            const hold = await lock(holder).acquire()
            lock(dead)
              .acquire()
              .catch(() => undefined)
            await reached(() => waiting(server), 1, signal)
            const served: Promise<number>[] = []
            for (const [i, client] of living.entries()) {
              const turn = lock(client)
                .withLock(() => undefined)
                .then(() => performance.now())
              turn.catch(() => undefined)
              served.push(turn)
              await reached(() => waiting(server), i + 2, signal)
            }
            started.push({ name, hold, served })
          }
          proxy.blackHole()
          await step(seconds)
          const results = await Promise.all(started.map((each) => turnsOf(each, signal)))
          return linesFound(results, { seconds, limitMs: 2 * RESYNC_MS + allowanceMs })
        } finally {
          // Without answers the dead client cannot be closed.
          proxy.pass()
        }
      },
    )
  } finally {
    await proxy.stop()
  }
}

const linesFound = (
  results: readonly { name: string; tookMs: readonly (number | null)[] }[],
  { seconds, limitMs }: { seconds: number; limitMs: number },
): Finding => {
  const title = `the clock of Redis goes ${-seconds} s back while a dead client waits in front`
  return {
    lines: [
      title,
      ...results.map(
        ({ name, tookMs }) =>
          `  ${name.padEnd(15)} the living have it ${tookMs.map(after).join(', ')} of the release`,
      ),
    ],
    violations: results
      .filter(({ tookMs }) => !tookMs.every((ms) => ms !== null && ms <= limitMs))
      .map(({ name }) => `I4 ${title}: a living one did not have the ${name} within ${limitMs} ms`),
  }
}

const turnsOf = async (
  { name, hold, served }: { name: string; hold: LockHold; served: readonly Promise<number>[] },
  signal: AbortSignal,
): Promise<{ name: string; tookMs: (number | null)[] }> => {
  const releasedAt = performance.now()
  await hold.release()
  const limit = sleep(LINE_LIMIT_MS, null, { signal, ref: false })
  const turns = served.map(async (turn) => {
    const at = await Promise.race([turn, limit])
    return at === null ? null : at - releasedAt
  })
  return { name, tookMs: await Promise.all(turns) }
}

const reached = async (count: () => Promise<unknown>, wanted: number, signal: AbortSignal): Promise<void> => {
  while (Number(await count()) < wanted) {
    signal.throwIfAborted()
    await sleep(5)
  }
}
