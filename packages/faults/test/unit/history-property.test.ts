import { describe, expect, test } from '@jest/globals'
import {
  type CheckName,
  checkHistory,
  type HistoryEvent,
  type HistoryOptions,
  seededRandom,
} from '@holdfast/faults/harness'

type Kind = HistoryEvent['kind']
type Of<K extends Kind> = Extract<HistoryEvent, { kind: K }>
type Random = (below: number) => number

const seeded = (seed: number): Random => {
  const { next } = seededRandom(seed)
  return (below) => next() * below
}

const options: HistoryOptions = {
  fifo: { maxOvertakes: 0, slackMs: 0.5 },
  liveness: { deadlineMs: 50, graceMs: 1 },
  handOff: { limitMs: 2, calmMs: 5 },
}

/** One hold from its grant on, and when the lock is free for the next. */
const holdEvents = (random: Random, grant: Of<'acquired'>): { events: HistoryEvent[]; freeMs: number } => {
  const { process, lock, owner, token, attempt } = grant
  const of = { process, lock, owner }
  const events: HistoryEvent[] = []
  let [nowMs, untilMs] = [grant.atMs, grant.trustedUntilMs]
  const pass = (): number => (nowMs += random(1))
  const levels = random(4) < 1 ? 2 : 1
  if (levels === 2) {
    const call = { process, lock, attempt: `${attempt}-inner` }
    events.push({ kind: 'acquire-begin', atMs: pass(), ...call })
    events.push({ kind: 'acquired', atMs: pass(), ...call, owner, token, trustedUntilMs: nowMs + 1 })
  }
  for (let renewals = Math.floor(random(3)); renewals > 0; renewals -= 1) {
    untilMs = pass() + 30
    events.push({ kind: 'trusted', atMs: nowMs, ...of, untilMs })
  }
  events.push({ kind: 'write', atMs: pass(), ...of, token, accepted: true })
  const fate = random(10)
  if (fate < 1) return { events, freeMs: untilMs }
  if (fate < 2) {
    events.push({ kind: 'killed', atMs: pass(), process })
    return { events, freeMs: untilMs }
  }
  if (fate < 4) events.push({ kind: 'lost', atMs: pass(), ...of, reason: 'closed' })
  const freeMs = nowMs
  for (let level = levels; level > 0; level -= 1) {
    const outcome = fate < 4 ? 'lost' : level > 1 ? 'still-held' : 'released'
    events.push({ kind: 'release-begin', atMs: pass(), ...of })
    events.push({ kind: 'released', atMs: pass(), ...of, outcome })
  }
  return { events, freeMs: fate < 4 ? freeMs : nowMs }
}

const correctLock = (random: Random, lock: string, turns: number): HistoryEvent[] => {
  const events: HistoryEvent[] = []
  const fenced = random(2) < 1
  let [arrivalMs, freeMs] = [0, 0]
  for (let turn = 1; turn <= turns; turn += 1) {
    arrivalMs += random(12)
    const process = `${lock}-process-${turn}`
    const call = { process, lock, attempt: turn }
    const atMs = Math.max(arrivalMs, freeMs) + random(0.5)
    events.push({ kind: 'acquire-begin', atMs: arrivalMs, ...call, deadlineMs: atMs - arrivalMs + random(5) })
    const token = fenced ? String(turn) : undefined
    const grant: Of<'acquired'> = {
      kind: 'acquired',
      atMs,
      ...call,
      owner: process,
      token,
      trustedUntilMs: atMs + 30,
    }
    const hold = holdEvents(random, grant)
    events.push(grant, ...hold.events)
    freeMs = hold.freeMs
    const other = { process: 'bystander', lock, attempt: `${lock}-${turn}` }
    events.push({ kind: 'acquire-begin', atMs: arrivalMs + 0.1, ...other, deadlineMs: 0.2 })
    const endMs = arrivalMs + 0.1 + random(0.4)
    if (random(2) < 1) events.push({ kind: random(2) < 1 ? 'refused' : 'aborted', atMs: endMs, ...other })
    else events.push({ kind: 'failed', atMs: endMs, ...other, code: 'REDIS_UNAVAILABLE' })
    const stale = { kind: 'write', atMs: freeMs + 0.01, process, lock, owner: process, token } as const
    events.push({ ...stale, accepted: false })
  }
  return events
}

const disturbances = (random: Random): HistoryEvent[] =>
  Array.from({ length: 5 }, (_, index) => {
    const of = { process: 'test', name: `cut-${index}` }
    const atMs = random(200)
    const begin: HistoryEvent = { kind: 'fault', atMs, ...of, class: 'disturbance' }
    return random(2) < 1 ? [begin] : [begin, { kind: 'healed', atMs: atMs + random(50), ...of } as const]
  }).flat()

const correctHistory = (random: Random, locks = 3, turns = 40): HistoryEvent[] => [
  ...Array.from({ length: locks }, (_, index) => correctLock(random, `lock-${index}`, turns)).flat(),
  { kind: 'end', atMs: 1e9, process: 'test', keys: [], channels: [], timers: 0 },
]

const shuffled = (random: Random, events: HistoryEvent[]): HistoryEvent[] => {
  const keyed = events.map((event) => ({ event, key: random(1) }))
  return keyed.sort((a, b) => a.key - b.key).map(({ event }) => event)
}

const replace = (events: HistoryEvent[], old: HistoryEvent, ...by: HistoryEvent[]): HistoryEvent[] =>
  events.flatMap((event) => (event === old ? by : [event]))

/** A bug of the lock: what it makes of a history at one place, or nothing where it makes no difference. */
interface Mutation {
  readonly finds: CheckName
  readonly plant: (events: HistoryEvent[], site: HistoryEvent) => HistoryEvent[] | undefined
}

const is = <K extends Kind>(kind: K, event: HistoryEvent): event is Of<K> => event.kind === kind
const every = <K extends Kind>(events: HistoryEvent[], kind: K): Of<K>[] => {
  return events.filter((event): event is Of<K> => is(kind, event))
}
const at = <K extends Kind>(
  kind: K,
  plant: (events: HistoryEvent[], site: Of<K>) => HistoryEvent[] | undefined,
) => {
  return (events: HistoryEvent[], site: HistoryEvent) => (is(kind, site) ? plant(events, site) : undefined)
}
const outermost = (events: HistoryEvent[], lock: string) =>
  every(events, 'acquired').filter((event) => event.lock === lock && typeof event.attempt === 'number')
const nextGrant = (events: HistoryEvent[], { lock, owner }: { lock: string; owner: string }) => {
  const grants = outermost(events, lock)
  return grants[grants.findIndex((grant) => grant.owner === owner) + 1]
}
const beginOf = (events: HistoryEvent[], of: Of<'acquired'>) =>
  every(events, 'acquire-begin').find(
    (event) => event.process === of.process && event.attempt === of.attempt,
  )!
const trustOf = (events: HistoryEvent[], owner: string): number => {
  const renewal = every(events, 'trusted').findLast((event) => event.owner === owner)
  return renewal?.untilMs ?? every(events, 'acquired').find((event) => event.owner === owner)!.trustedUntilMs
}
/** Takes the end of a belief away where the next owner comes before anything else ends it. */
const endless = (events: HistoryEvent[], site: Of<'lost' | 'release-begin'>): HistoryEvent[] | undefined => {
  const left = replace(events, site)
  const own = (event: { owner: string }): boolean => event.owner === site.owner
  const levels = every(events, 'acquired').filter(own).length
  const releases = every(left, 'release-begin').filter(own)
  const endMs = every(left, 'lost').find(own)?.atMs ?? releases[levels - 1]?.atMs ?? Infinity
  const next = nextGrant(events, site)
  return next === undefined || next.atMs >= Math.min(endMs, trustOf(events, site.owner)) ? undefined : left
}
const secondOwner = (events: HistoryEvent[], site: Of<'write'>): HistoryEvent[] | undefined => {
  if (!site.accepted) return undefined
  const call = { atMs: site.atMs, process: 'intruder', lock: site.lock, attempt: 0 }
  const grant = { ...call, kind: 'acquired', owner: 'intruder', trustedUntilMs: site.atMs + 30 } as const
  return [...events, { ...call, kind: 'acquire-begin' }, grant]
}
const withToken = (token: (previous: bigint) => bigint) =>
  at('acquired', (events, site) => {
    const next = nextGrant(events, site)
    if (site.token === undefined || next === undefined || site.atMs >= beginOf(events, next).atMs)
      return undefined
    return replace(events, next, { ...next, token: String(token(BigInt(site.token))) })
  })

const mutations: Record<string, Mutation> = {
  'a second owner is let in': { finds: 'overlap', plant: at('write', secondOwner) },
  'a loss is not told': { finds: 'overlap', plant: at('lost', endless) },
  'belief goes on during the release': { finds: 'overlap', plant: at('release-begin', endless) },
  'trust outlives the lease': {
    finds: 'overlap',
    plant: at('trusted', (events, site) => {
      const next = nextGrant(events, site)
      const lapsed = next !== undefined && next.atMs >= trustOf(events, site.owner)
      const ended = [...every(events, 'release-begin'), ...every(events, 'killed')]
      if (!lapsed || ended.some(({ process }) => process === site.process)) return undefined
      return replace(events, site, { ...site, untilMs: 1e6 }).filter(
        (event) =>
          event === next || !is('trusted', event) || event.owner !== site.owner || event.untilMs === 1e6,
      )
    }),
  },
  'a token comes twice': { finds: 'token-order', plant: withToken((previous) => previous) },
  'a token falls': { finds: 'token-order', plant: withToken((previous) => previous - 1n) },
  'the register takes a stale token': {
    finds: 'register',
    plant: at('write', (events, site) => {
      const next = every(events, 'write').find(
        ({ lock, accepted, token }) => lock === site.lock && accepted && Number(token) > Number(site.token),
      )
      if (site.accepted || next === undefined) return undefined
      return replace(events, site, { ...site, atMs: next.atMs + 0.01, accepted: true })
    }),
  },
  'an owner writes after its belief': {
    finds: 'register',
    plant: at('write', (events, site) =>
      site.accepted || site.token !== undefined
        ? undefined
        : replace(events, site, { ...site, accepted: true }),
    ),
  },
  'a waiter is overtaken': {
    finds: 'overtaking',
    plant: at('acquired', (events, site) => {
      const next = nextGrant(events, site)
      if (next === undefined || typeof site.attempt !== 'number') return undefined
      const [first, second] = [beginOf(events, site), beginOf(events, next)]
      if (second.atMs - first.atMs <= 0.5 || second.atMs >= site.atMs) return undefined
      const swapped = replace(events, first, { ...first, atMs: second.atMs })
      return replace(swapped, second, { ...second, atMs: first.atMs })
    }),
  },
  'a wake-up is late': {
    finds: 'liveness',
    plant: at('acquired', (events, site) => {
      const begin = beginOf(events, site)
      const waitedMs = site.atMs - begin.atMs
      return waitedMs > 2 ? replace(events, begin, { ...begin, deadlineMs: waitedMs - 1.5 }) : undefined
    }),
  },
  'a refusal is late': {
    finds: 'liveness',
    plant: at('refused', (events, site) => replace(events, site, { ...site, atMs: site.atMs + 2 })),
  },
  'a wake-up is lost': {
    finds: 'hand-off',
    plant: at('released', (events, site) => {
      const next = nextGrant(events, site)
      if (site.outcome !== 'released' || next === undefined) return undefined
      const begin = beginOf(events, next)
      if (begin.atMs > site.atMs) return undefined
      const left = events.filter(({ atMs }) => atMs <= site.atMs)
      // A hold that its owner must not trust any longer may still be there, until the answer to its release.
      const released = new Set(every(left, 'released').map(({ owner }) => owner))
      if (every(left, 'lost').some(({ owner }) => !released.has(owner))) return undefined
      return [...replace(left, begin, { ...begin, deadlineMs: 1e6 }), { ...next, atMs: site.atMs + 2.5 }]
    }),
  },
  'a lock is gone': {
    finds: 'loss',
    plant: at('lost', (events, site) => replace(events, site, { ...site, reason: 'gone' })),
  },
  'an abort is never noticed': {
    finds: 'liveness',
    plant: at('aborted', (events, site) => replace(events, site)),
  },
  'a key is left': {
    finds: 'end-state',
    plant: at('end', (events, site) => replace(events, site, { ...site, keys: ['lock-0'] })),
  },
  'a subscription is left': {
    finds: 'end-state',
    plant: at('end', (events, site) => replace(events, site, { ...site, channels: ['c'] })),
  },
  'a timer is left': {
    finds: 'end-state',
    plant: at('end', (events, site) => replace(events, site, { ...site, timers: 1 })),
  },
  'a release is told that it lost': {
    finds: 'false-not-owner',
    plant: at('released', (events, site) =>
      site.outcome === 'lost' ? undefined : replace(events, site, { ...site, outcome: 'lost' }),
    ),
  },
  'a partial release throws': {
    finds: 'false-not-owner',
    plant: at('released', (events, site) => {
      if (site.outcome !== 'still-held') return undefined
      return replace(events, site, { ...site, outcome: 'error', code: 'NOT_LOCK_OWNER' })
    }),
  },
  'a release is the first to say that the lock is lost': {
    finds: 'false-not-owner',
    plant: at('lost', (events, site) => replace(events, site)),
  },
  'an acquire fails as if it were a release': {
    finds: 'false-not-owner',
    plant: at('failed', (events, site) => replace(events, site, { ...site, code: 'NOT_LOCK_OWNER' })),
  },
}

const seeds = Array.from({ length: 25 }, (_, index) => index + 1)

describe('generated histories', () => {
  test.each(seeds)('a correct one has no violation and needs no excuse (seed %i)', (seed) => {
    const random = seeded(seed)
    const events = shuffled(random, [...correctHistory(random), ...disturbances(random)])
    expect(checkHistory(events, options)).toMatchObject({ violations: [], excused: [] })
  })

  test.each(Object.entries(mutations))('a bug is found wherever it is planted: %s', (_, { finds, plant }) => {
    let planted = 0
    for (const seed of seeds.slice(0, 10)) {
      const events = correctHistory(seeded(seed), 2, 20)
      for (const site of events) {
        const mutant = plant(events, site)
        if (mutant === undefined) continue
        planted += 1
        expect(checkHistory(mutant, options).violations.map(({ check }) => check)).toContain(finds)
      }
    }
    expect(planted).toBeGreaterThanOrEqual(10)
  })

  test('a loss of data excuses the second owner that it lets in', () => {
    const random = seeded(1)
    const events = correctHistory(random, 1)
    for (const site of every(events, 'write').filter(({ accepted }) => accepted)) {
      const loss = {
        kind: 'fault',
        process: 'test',
        name: 'flush',
        class: 'data-loss',
        atMs: site.atMs,
      } as const
      const { violations, excused } = checkHistory([...secondOwner(events, site)!, loss])
      const second = excused.filter(({ message }) => message.startsWith('intruder acquired'))
      expect(second.map(({ fault }) => fault)).toEqual([loss])
      expect(violations.filter(({ message }) => message.startsWith('intruder acquired'))).toEqual([])
    }
  })

  test('200,000 events are checked at once', () => {
    const busy = correctLock(seeded(1), 'busy', 15_000)
    const others = Array.from({ length: 60 }, (_, index) => correctLock(seeded(index), `lock-${index}`, 300))
    const events = [busy, ...others].flat()
    expect(events.length).toBeGreaterThan(200_000)
    const report = checkHistory(events, options)
    expect(report.violations).toEqual([])
    expect(report.figures.acquisitions).toBe(every(events, 'acquired').length)
  })
})
