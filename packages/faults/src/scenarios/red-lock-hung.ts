// A RedLock of five nodes, some of which hang (SIGSTOP), under contention of several processes. docs/redlock.md has the
// figures.
import { setTimeout as sleep } from 'node:timers/promises'
import { LockClient, LockError, type RedLock } from '@holdfast/core'
import type { RedisServer } from '@holdfast/faults/harness'
import { count, ms, oneOf, someNumbers, someOf } from '../run/options.js'
import { defineScenario, type Roles, type Run } from '../run/scenario.js'
import { nowMs } from '../run/shared-clock.js'
import { table } from '../run/table.js'

const KINDS = ['lock', 'fair'] as const

const options = {
  nodes: count(5, 'Redis servers', { most: 9 }),
  hung: someNumbers([0, 1, 2], 'how many of them hang, one run for each'),
  kinds: someOf(KINDS, 'kinds of the member locks'),
  processes: count(8, 'processes'),
  callers: count(2, 'callers of each'),
  work: ms(5, 'how long each stays inside'),
  wait: ms(3_000, 'how long each waits at most'),
  seconds: count(16, 'how long each run lasts'),
  when: oneOf(['before', 'amid'], 'when the nodes hang, of the run'),
}

type HungRun = Run<typeof options>

interface Seen {
  readonly grants: [fromMs: number, toMs: number][]
  timeouts: number
  readonly errors: Record<string, number>
  longestWaitMs: number
}

interface Figures {
  readonly kind: string
  readonly hung: number
  readonly grants: number
  readonly overlaps: number
  readonly longestGapMs: number
  readonly longestWaitMs: number
  readonly timeouts: number
  readonly errors: string
}

export const redLockHung = defineScenario({
  name: 'red-lock-hung',
  summary: 'A RedLock under contention while some of its nodes hang.',
  options,
  smoke: '--seconds 2 --hung 2 --kinds lock',
  long: '',
  heading: ({ nodes, processes, callers, seconds, when }) =>
    `${nodes} nodes, ${processes} processes with ${callers} callers each, ${seconds} s, hung ${when} the run`,

  async run(run) {
    const all: Figures[] = []
    for (const kind of run.options.kinds) {
      for (const hung of run.options.hung) {
        run.interrupted.throwIfAborted()
        run.progress(`${hung} of ${run.options.nodes} nodes hang, members of kind ${kind}`)
        all.push(await runOnce(run, kind, hung))
      }
    }
    const violations = all.flatMap(({ kind, hung, overlaps, timeouts, errors }) => {
      const where = `with ${hung} nodes hung, members of kind ${kind}`
      return [
        ...(overlaps > 0 ? [`I1 ${overlaps} times two callers were inside, ${where}`] : []),
        ...(timeouts > 0
          ? [`I4 ${timeouts} callers waited longer than ${run.options.wait} ms, ${where}`]
          : []),
        ...(errors === '' ? [] : [`I4 calls ended with ${errors}, ${where}`]),
      ]
    })
    return { figures: all, report: reportOf(all), violations }
  },

  worker: callersOfRedLock,
})

/** Callers of one process that take the same RedLock over and over, and note when each was inside. */
function callersOfRedLock(): Roles {
  let lock: RedLock
  let settings: { callers: number; workMs: number; waitMs: number }
  let goesOn = true
  const seen: Seen = { grants: [], timeouts: 0, errors: {}, longestWaitMs: 0 }
  const callOnce = async (): Promise<void> => {
    const askedAt = nowMs()
    const waited = (): void => void (seen.longestWaitMs = Math.max(seen.longestWaitMs, nowMs() - askedAt))
    const inside = async (hold: { ensure(): void }): Promise<void> => {
      const from = nowMs()
      waited()
      await sleep(settings.workMs)
      // Its trust is what the lock promises: work after its end would be the caller's mistake.
      hold.ensure()
      seen.grants.push([from, nowMs()])
    }
    try {
      await lock.withLock(inside, { waitMs: settings.waitMs })
    } catch (error) {
      waited()
      const code = error instanceof LockError ? error.code : String(error)
      if (code === 'LOCK_TIMEOUT') seen.timeouts += 1
      else seen.errors[code] = (seen.errors[code] ?? 0) + 1
    }
  }
  const goOn = async (): Promise<void> => {
    while (goesOn) await callOnce()
  }
  return {
    async begin(wanted: typeof settings & { urls: string[]; kind: (typeof KINDS)[number] }) {
      settings = wanted
      const clients = await Promise.all(wanted.urls.map((url) => LockClient.connect(url)))
      for (const client of clients) client.on('release-failed', () => undefined)
      const members = clients.map((client) =>
        wanted.kind === 'fair' ? client.getFairLock('scenario') : client.getLock('scenario'),
      )
      lock = (clients[0] as LockClient).getRedLock(members)
    },
    async call(): Promise<Seen> {
      await Promise.all(Array.from({ length: settings.callers }, goOn))
      return seen
    },
    stop() {
      goesOn = false
    },
  }
}

/** The first nodes hang: those at which all would wait first. */
const runOnce = async (run: HungRun, kind: string, hung: number): Promise<Figures> => {
  const { fleet } = run
  const { nodes, processes, callers, work: workMs, wait: waitMs, seconds, when } = run.options
  const servers: RedisServer[] = []
  for (let i = 0; i < nodes; i += 1) servers.push(await run.redis())
  const hang = (): Promise<unknown> => Promise.all(servers.slice(0, hung).map((server) => server.pause()))
  const settings = { urls: servers.map(({ url }) => url), kind, callers, workMs, waitMs }
  for (let i = 0; i < processes; i += 1) await fleet.launch(settings)
  if (when === 'before') await hang()
  const results = fleet.callAll<Seen>('call')
  await sleep(seconds * 500, undefined, { signal: run.interrupted })
  if (when === 'amid') await hang()
  await sleep(seconds * 500, undefined, { signal: run.interrupted })
  await fleet.callAll('stop')
  const seen = await results
  await fleet.stop()
  await Promise.all(servers.map((server) => server.stop()))
  const grants = seen.flatMap((each) => each.grants).sort(([a], [b]) => a - b)
  const gaps = grants.slice(1).map(([from], i) => from - (grants[i]?.[1] ?? from))
  return {
    ...{ kind, hung, grants: grants.length },
    overlaps: gaps.filter((gap) => gap < 0).length,
    longestGapMs: Math.round(Math.max(0, ...gaps)),
    longestWaitMs: Math.round(Math.max(...seen.map((each) => each.longestWaitMs))),
    timeouts: seen.reduce((sum, each) => sum + each.timeouts, 0),
    errors: seen
      .flatMap((each) => Object.entries(each.errors))
      .map(([code, times]) => `${times} ${code}`)
      .join(', '),
  }
}

const HEADINGS = [
  'members',
  'hung',
  'grants',
  'of all',
  'overlaps',
  'longest wait',
  'nobody inside',
  'time-outs',
  'errors',
]

const reportOf = (all: readonly Figures[]): string[] =>
  table([
    HEADINGS,
    ...all.map((each) => {
      const whole = all.find(({ kind, hung }) => kind === each.kind && hung === 0)
      const share = whole ? `${Math.round((100 * each.grants) / whole.grants)} %` : ''
      const times = [each.longestWaitMs, each.longestGapMs].map((time) => `${time} ms`)
      const counts = [each.grants, share, each.overlaps, ...times, each.timeouts, each.errors || 'none']
      return [each.kind, each.hung, ...counts].map(String)
    }),
  ])
