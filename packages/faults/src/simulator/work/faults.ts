import type { SeededRandom } from '../../harness/seeded-random.js'
import { forceUnlock } from '../../workload/lock-kinds.js'
import { someKeyOf } from '../../workload/vanishing.js'
import { LEFT_BEHIND, leftBehindForMs } from '../checks/fault-spans.js'
import { Copy } from '../network/network.js'
import type { Server } from '../network/server.js'
import type { Wire } from '../network/wire.js'
import { forgedMessage } from './forged-messages.js'
import { levelsIn } from './lost-levels.js'
import type { FaultName, FaultPlan } from './plan.js'
import type { Participant, Stage } from './stage.js'

const FORWARD_MS = [300, 2_000, 60_000, 3_600_000] as const
const BACK_MS = [300, 5_000, 20_000] as const

type Class = 'data-loss' | 'lock-loss' | 'disturbance'

/** The effect of a fault, and how it is ended; null: there was nothing to do it to. */
interface Begun {
  readonly class?: Class
  readonly lock?: string | undefined
  readonly target?: string | undefined
  readonly part?: string
  /** When it is over; absent: at once. */
  readonly end?: () => void
  /** Whether a forced release, which is over when it is known, took the lock from somebody. */
  readonly took?: Promise<boolean>
}

type Fault = (stage: Stage, plan: FaultPlan, chance: SeededRandom) => Begun | null

const onWires =
  (harm: (wire: Wire, chance: SeededRandom) => void): Fault =>
  (stage, { process, isWide }, chance) => {
    const aimed = isWide ? stage.living : stage.inPlaceOf(process)
    if (aimed.length === 0) return null
    for (const { wire } of aimed) harm(wire, chance)
    return {
      target: aimed.length === 1 ? aimed[0]?.process.name : undefined,
      end: () => aimed.forEach(({ wire }) => wire.heal()),
    }
  }

const onProcess =
  (harm: (participant: Participant, stage: Stage, chance: SeededRandom) => Begun): Fault =>
  (stage, { process }, chance) => {
    const [one] = stage.inPlaceOf(process)
    return one ? { target: one.process.name, ...harm(one, stage, chance) } : null
  }

/** The planned lock, or the next one that somebody has. */
const heldLock = ({ network, plan: { locks } }: Stage, planned: string): string | undefined => {
  const { keyspace } = network.primary.engine
  const place = locks.indexOf(planned)
  return [...locks.slice(place), ...locks.slice(0, place)].find((lock) => keyspace.get(lock) instanceof Map)
}

const FAULTS = {
  'lose-reply': onWires((wire, chance) => (wire.repliesToLose = 1 + chance.whole(5))),
  'late-copy': onWires((wire, chance) => {
    wire.repliesToLose = 1 + chance.whole(5)
    wire.copiesToCome = wire.repliesToLose
  }),
  cut: onWires((wire) => wire.cut()),
  refuse: onWires((wire) => {
    wire.refuses = true
    wire.cut()
  }),
  'black-hole': onWires((wire) => {
    wire.swallowsUp = true
    wire.swallowsDown = true
  }),
  'half-break': onWires((wire, chance) => {
    if (chance.chance(0.5)) wire.swallowsUp = true
    else wire.swallowsDown = true
  }),
  delay: onWires((wire, chance) => wire.slowDown(chance.between(10, 180))),
  'drop-messages': onWires((wire, chance) => (wire.dropsNth = 1 + chance.whole(4))),

  'script-flush': ({ network }) => {
    network.primary.engine.scripting.flush()
    return {}
  },
  'out-of-memory': ({ network: { primary } }) => {
    primary.engine.state.maxMemory = 1
    return { end: () => void (primary.engine.state.maxMemory = 0) }
  },
  'read-only': ({ network: { primary } }) => {
    primary.engine.state.isReplica = true
    return { end: () => void (primary.engine.state.isReplica = false) }
  },
  'server-stands-still': ({ network: { primary } }) => {
    primary.pause()
    return { end: () => primary.resume() }
  },
  'server-restarts': ({ network: { primary } }) => {
    primary.stop()
    return { end: () => primary.start() }
  },
  'server-restarts-empty': (stage) => {
    const { primary } = stage.network
    primary.stop()
    return {
      class: 'data-loss',
      end: () => {
        primary.start({ empty: true })
        stage.restoreCounters()
      },
    }
  },
  /** A replica that lags behind takes over; the former primary goes on for a while with who is connected to it. */
  'fail-over': (stage, { lastsMs }, chance) => {
    const { network, world } = stage
    const copy = new Copy(network.primary.engine.keyspace)
    const lagMs = chance.between(0, Math.min(200, lastsMs / 2))
    const refusesAfterMs = chance.between(0, lastsMs / 2)
    let former: Server | undefined
    world.after(lagMs, () => {
      const { engine } = (former = network.failOver(copy))
      const { locks, lostLevels } = stage
      const copied = levelsIn(network.primary.engine.keyspace, locks)
      const compare = (): void => lostLevels.compare(copied, levelsIn(engine.keyspace, locks))
      compare()
      stage.restoreCounters()
      world.after(refusesAfterMs, () => {
        compare()
        engine.state.isReplica = true
      })
    })
    return { class: 'data-loss', end: () => former?.stop() }
  },
  'clock-forward': ({ network: { primary } }, _, chance) => {
    primary.stepClock(chance.pick(FORWARD_MS))
    return { class: 'lock-loss' }
  },
  'clock-back': (stage, _, chance) => {
    const byMs = chance.pick(BACK_MS)
    stage.network.primary.stepClock(-byMs)
    stage.clockBackMs += byMs
    return {}
  },
  'key-vanishes': (stage, _, chance) => {
    const { primary } = stage.network
    const found = someKeyOf(primary.engine.keyspace.keys(), chance)
    // A copy that is still on its way would find no tombstone, and take the lock for nobody.
    if (!found || (found.part === 'tombstone' && primary.hasLateWork)) return null
    if (chance.chance(0.5)) primary.command('DEL', found.key)
    else primary.command('PEXPIRE', found.key, '1')
    if (found.class === 'data-loss') stage.restoreCounters()
    return { class: found.class, lock: found.lock, part: found.part }
  },
  'force-unlock': (stage, plan) => {
    const lock = heldLock(stage, plan.lock) ?? plan.lock
    return { class: 'lock-loss', lock, took: forceUnlock(stage.observer(), lock).catch(() => false) }
  },
  'forged-message': (stage, plan, chance) => {
    const { primary } = stage.network
    const lock = heldLock(stage, plan.lock)
    const forged = lock === undefined ? undefined : forgedMessage(primary.engine.keyspace, lock, chance)
    if (!forged) return null
    primary.command('PUBLISH', forged.channel, forged.payload)
    return {}
  },

  'process-stands-still': onProcess(({ process }) => {
    process.pause()
    return { end: () => process.resume() }
  }),
  'process-killed': onProcess((participant, stage) => {
    stage.kill(participant)
    return {}
  }),
  'wall-clock': onProcess(({ process }, _, chance) => {
    process.stepWallClock(chance.pick([-3_600_000, -40, 40, 3_600_000]))
    return {}
  }),
} satisfies Record<FaultName, Fault>

/** Lets one fault begin, and end when its time is over; both are noted. */
export const happen = (stage: Stage, plan: FaultPlan, chance: SeededRandom): void => {
  const { name, id } = plan
  const fault: Fault = FAULTS[name]
  const begun = fault(stage, plan, chance)
  if (!begun) return
  const { class: kind = 'disturbance', lock, target, part, took, end } = begun
  stage.counts.set(name, (stage.counts.get(name) ?? 0) + 1)
  const named = `${name} ${id}`
  stage.journal.add('world', 'fault', { name: named, class: kind, lock, target, part })
  stage.faultsOpen += 1
  const heal = async (): Promise<void> => {
    end?.()
    const outcome = took && { took: await took }
    // A fault is over when its last trace in the network is.
    await stage.reconnected()
    stage.journal.add('world', 'healed', { name: named, lock, ...outcome })
    stage.faultsOpen -= 1
    if (kind === 'data-loss') haunt(stage, id)
  }
  if (end) stage.world.after(plan.lastsMs, () => void heal())
  else void heal()
}

/**
 * A release may be among what was lost, so that a lock stays taken until its lease ends, or its caller queued; and a copy
 * of a command that was on its way finds no tombstone.
 */
const haunt = ({ journal, world, plan }: Stage, id: string): void => {
  const name = `${LEFT_BEHIND} ${id} left behind`
  journal.add('world', 'fault', { name, class: 'disturbance' })
  world.after(leftBehindForMs(plan.settings), () => journal.add('world', 'healed', { name }))
}
