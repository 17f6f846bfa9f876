// Breaks Holdfast in every way there is, at random from a seed, and checks what its processes saw.
import { setTimeout as sleep } from 'node:timers/promises'
import type { HistoryEvent } from '@holdfast/faults/harness'
import { count, flag, minutes, ms, oneOf, someOf } from '../run/options.js'
import { judge } from '../run/judge.js'
import { defineScenario, type Roles } from '../run/scenario.js'
import { nowMs } from '../run/shared-clock.js'
import { sum } from '../run/table.js'
import { leftBehind } from '../workload/left-behind.js'
import { kindOf, LOCK_KINDS, lockNames, tokensOf } from '../workload/lock-kinds.js'
import { ObservedClient } from '../workload/observed-client.js'
import { victimOf } from '../workload/victim.js'
import { Crew, type CrewSettings } from './torture/crew.js'
import { FAULT_NAMES, happen } from '../workload/faults.js'

// Until the last fault has healed everywhere: reconnects, leases of processes that were killed.
const SETTLE_MS = 3_000
const PROGRESS_MS = 5_000
const LIMITS = {
  // What may come on top of a caller's own limit: a command that times out (400 ms), a resync (300 ms), the patience
  // of short waits (250 ms), and a machine that is busy with three processes and their faults.
  liveness: { deadlineMs: 2_500, graceMs: 2_000 },
  handOff: { limitMs: 1_000, calmMs: 500 },
  // An answer may be held up by the slowest wire, and by a process that stood still for three leases.
  grantLagMs: 5_000,
  // Redis sees calls of different processes in the order of their beginnings only when nothing holds one of them up
  // for longer than the slack: neither a fault on their way, nor a busy machine.
  fifo: {
    maxOvertakes: 0,
    slackMs: 150,
    calmMs: 500,
    locks: (lock: string) => kindOf(lock) === 'fair',
    excuses: ({ target }: { target?: string | undefined }) => target === undefined,
  },
  lastingTokens: (lock: string) => tokensOf(lock) === 'time',
}

export const torture = defineScenario({
  name: 'torture',
  summary: 'Every kind of lock, taken in every way by several processes, under every fault.',
  options: {
    minutes: minutes(1, 'how long faults go on'),
    faults: someOf(FAULT_NAMES, 'faults', { mayBeNone: true }),
    kinds: someOf(LOCK_KINDS, 'kinds of locks'),
    processes: count(3, 'worker processes'),
    flows: count(12, 'callers in each process'),
    locks: count(8, 'locks they all want'),
    lease: ms(1_500, 'how long a lock lasts without renewal', { least: 1 }),
    resync: ms(300, 'how often a waiter asks without being woken', { least: 1 }),
    delay: ms(0, 'how long every chunk travels, faults apart'),
    drop: count(0, 'of the messages to a subscriber every N-th is lost, faults apart; 0: none', { least: 0 }),
    interop: oneOf(['redisson', 'none'], 'who else uses the locks'),
    notes: flag('every second process describes its holds'),
  },
  smoke: '--minutes 0.1',
  long: '--minutes 20',
  heading: ({ minutes: long, kinds, processes, flows, interop }) =>
    `${long} min, ${kinds.join(', ')}, ${processes} processes with ${flows} callers each, interop ${interop}`,

  async run(run) {
    const { options, fleet, history, random, interrupted } = run
    const { lease: leaseMs, resync: resyncMs, flows, interop, notes } = options
    const redis = await run.redis()
    const register = await run.redis()
    const locks = lockNames(options.locks, options.kinds)
    const victim = await victimOf(run, {
      ...{ redis, register, leaseMs, locks: () => locks, delayMs: options.delay, dropNth: options.drop },
      settings: () => ({ resyncMs, flows, interop, notes }),
    })
    const { launch, observer, copies } = victim
    for (let i = 0; i < options.processes; i += 1) await launch()

    const startedAt = performance.now()
    let [faults, reportedAt, last] = [0, startedAt, 'none']
    while (performance.now() < startedAt + options.minutes * 60_000) {
      interrupted.throwIfAborted()
      if (options.faults.length > 0) {
        last = random.pick(options.faults)
        await happen(last as (typeof FAULT_NAMES)[number], victim)
        faults += 1
      }
      await sleep(random.between(0, 500))
      if (performance.now() - reportedAt >= PROGRESS_MS) {
        reportedAt = performance.now()
        // By the processes that are there now; one that was killed took its count along.
        const acquired = sum(await fleet.callAll<number>('progress'))
        run.progress(`${faults} faults, the last one ${last}, ${acquired} acquisitions`)
      }
    }
    await sleep(Math.max(SETTLE_MS, copies.harmlessAtMs - nowMs()))
    await fleet.callAll('finish')
    await observer.close()
    history.add('end', await leftBehind(redis, leaseMs))
    return judge(run, LIMITS, figuresOf)
  },

  worker(): Roles {
    let client: ObservedClient
    let crew: Crew
    return {
      begin(wanted: Begin) {
        const { name, port, file, leaseMs, resyncMs, interop, notes, seed } = wanted
        client = new ObservedClient({
          ...{ name, port, file },
          client: {
            lockWatchdogTimeout: leaseMs,
            commandTimeout: 400,
            unavailableTimeoutMs: 2_000,
            resyncInterval: resyncMs,
            interop,
            describeHolds: notes && seed % 2 === 0,
          },
        })
        const { history } = client
        // Calls that are made before it is connected reach Redis later than those of others.
        history.add('fault', { name: `${name} starts`, class: 'disturbance', target: name })
        client.redis.once('ready', () => history.add('healed', { name: `${name} starts` }))
        crew = new Crew(client, wanted)
      },
      progress: () => crew.acquisitions,
      async finish() {
        await crew.finish()
        await client.close([crew])
      },
    }
  },
})

interface Begin extends CrewSettings {
  readonly port: number
  readonly file: string
  readonly resyncMs: number
  readonly interop: 'redisson' | 'none'
  readonly notes: boolean
}

const figuresOf = (events: readonly HistoryEvent[]): string[] => {
  const guarded = events.filter((event) => event.kind === 'write' && event.token !== undefined)
  const refused = guarded.filter((event) => event.kind === 'write' && !event.accepted)
  const ofKind = (kind: string): number =>
    events.filter((event) => event.kind === 'acquired' && kindOf(event.lock) === kind).length
  return [
    `by kind: ${LOCK_KINDS.map((kind) => `${ofKind(kind)} ${kind}`).join(', ')}`,
    `${guarded.length} guarded writes, ${refused.length} of them refused`,
  ]
}
