import type { HistoryEvent } from '@holdfast/faults/harness'
import { createHash } from 'node:crypto'
import type { SeededRandom } from '../harness/seeded-random.js'
import type { Fate } from './network/wire.js'
import type { Finding } from './finding.js'
import { verdictOn } from './verdict.js'
import type { Plan, Step } from './work/plan.js'
import { Stage } from './work/stage.js'
import type { Choice, Delivery } from './world/world.js'

/** The name of the server in the names of its lanes. */
const SERVER = 'server'
// Clients are connected by then, and their inboxes subscribed.
const BEGIN_MS = 100
const LONGEST_MS = 60_000
// Late: when all else has arrived, and before what was interrupted is sent again.
const FATES: readonly Fate[] = [{ kind: 'lost' }, { kind: 'late', afterMs: 5 }]
const EXPECTED = /^holdfast:(latch|line):/

/** A next step: something arrives, or a fault. */
interface Alternative {
  readonly name: string
  /** Whom it concerns. */
  readonly actors: readonly string[]
  readonly isFault: boolean
  run(): void
}

interface Node {
  readonly alternatives: readonly Alternative[]
  /** Those that lead only to what was seen: an order of independent arrivals that another order stands for. */
  readonly asleep: ReadonlySet<string>
  readonly tried: Alternative[]
}

/** Whether it is all the same which of them comes first. What a fault does to its process and to the server, no other process sees. */
const areIndependent = (a: Alternative, b: Alternative): boolean =>
  !a.actors.some((actor) => b.actors.includes(actor))

/** Decides by a path through the tree of all orders, and goes on beyond its end. */
class Path implements Choice {
  readonly nodes: Node[] = []
  depth = 0
  isRedundant = false
  stage: Stage | null = null

  constructor(
    private readonly faults: number,
    private readonly look: (stage: Stage, heads: readonly Delivery[]) => void,
  ) {}

  next(heads: readonly Delivery[]): (() => void) | null {
    const stage = this.stage as Stage
    const alternatives = [
      ...arrivals(stage, heads),
      ...(this.faultsDone < this.faults ? faultsOn(stage) : []),
    ]
    let node = this.nodes[this.depth]
    if (!node) {
      this.look(stage, heads)
      node = { alternatives, asleep: this.asleepHere(), tried: [] }
      const first = alternatives.find(({ name }) => !node?.asleep.has(name))
      if (!first) {
        this.isRedundant = true
        return null
      }
      node.tried.push(first)
      this.nodes.push(node)
    }
    const name = node.tried.at(-1)?.name
    this.depth += 1
    const chosen = alternatives.find((each) => each.name === name)
    if (!chosen) throw new Error(`The same choices led elsewhere: ${name} is not possible.`)
    return () => chosen.run()
  }

  /** @returns whether there is an order that was not tried */
  advance(): boolean {
    for (let node = this.nodes.at(-1); node; node = this.nodes.at(-1)) {
      const { alternatives, asleep, tried } = node
      const next = alternatives.find(
        (each) => !asleep.has(each.name) && !tried.some(({ name }) => name === each.name),
      )
      if (next) {
        tried.push(next)
        return true
      }
      this.nodes.pop()
    }
    return false
  }

  begin(stage: Stage): void {
    this.stage = stage
    this.depth = 0
    this.isRedundant = false
  }

  /** How much of the tree lies behind the path, if each branch of a node were as large as the others: 0 to 1. */
  get reach(): number {
    let [reached, share] = [0, 1]
    for (const { alternatives, asleep, tried } of this.nodes) {
      const branches = alternatives.filter(({ name }) => !asleep.has(name)).length
      reached += (share * (tried.length - 1)) / branches
      share /= branches
    }
    return reached
  }

  private get faultsDone(): number {
    return this.nodes.slice(0, this.depth).filter(({ tried }) => tried.at(-1)?.isFault).length
  }

  private asleepHere(): ReadonlySet<string> {
    const before = this.nodes[this.depth - 1]
    const chosen = before?.tried.at(-1)
    if (!before || !chosen) return new Set()
    const others = [
      ...before.alternatives.filter(({ name }) => before.asleep.has(name)),
      ...before.tried.slice(0, -1),
    ]
    return new Set(others.filter((each) => areIndependent(each, chosen)).map(({ name }) => name))
  }
}

const arrivals = ({ world }: Stage, heads: readonly Delivery[]): Alternative[] =>
  heads.map((head) => ({
    ...{ name: head.lane, actors: [head.actor], isFault: false },
    run: () => world.arrive(head),
  }))

const faultsOn = (stage: Stage): Alternative[] =>
  stage.living.flatMap((participant) => {
    const { process, connections } = participant
    const fault = (name: string, run: () => void): Alternative => ({
      ...{ name: `${name} ${process.name}`, actors: [SERVER, process.name], isFault: true },
      run: () => {
        const noted = { name, class: 'disturbance', target: process.name }
        stage.journal.add('world', 'fault', noted)
        run()
      },
    })
    const cuts = [...connections].flatMap((connection, i) =>
      connection.status === 'ready'
        ? FATES.map((fate) => fault(`cut ${i} ${fateName(fate)}`, () => connection.breakOff(fate)))
        : [],
    )
    return [...cuts, fault('process-killed', () => stage.kill(participant))]
  })

const fateName = (fate: Fate): string => (fate.kind === 'late' ? `late by ${fate.afterMs}` : fate.kind)

/** So many clients, each of which takes one lock once and releases it. */
const planOf = (lock: string, clients: number): Plan => ({
  seed: 1,
  settings: {
    leaseMs: 3_000,
    resyncMs: 1_000,
    interop: 'redisson',
    slowestMs: 1,
    longestWorkMs: 0,
    maxRetriesPerRequest: 20,
    pushedGrants: true,
    localPassing: true,
    localReentry: false,
    someReleaseEarly: false,
    someLinger: false,
  },
  locks: [lock],
  faults: [],
  processes: Array.from({ length: clients }, (_, p) => ({
    name: `p${p}`,
    callers: [[stepOf(lock, `${p}.0.0`)]],
  })),
})

const stepOf = (lock: string, id: string): Step => ({
  ...{ id, lock, way: 'hold', pauseMs: 0, atMs: BEGIN_MS, waitMs: 20_000, abortMs: 0, tasks: [] },
})

/** The result of one order of arrivals; null: another order stands for it. */
const playOnce = async (plan: Plan, choice: Choice & { begin(stage: Stage): void }): Promise<Outcome> => {
  const stage = new Stage(plan)
  const { world } = stage
  await world.run(() => false, BEGIN_MS - 1)
  choice.begin(stage)
  world.choice = choice
  await world.run(() => stage.isThrough, LONGEST_MS)
  const { events } = stage.journal
  // Messages on their way when all are through arrive in any order.
  world.choice = { next: ([head]) => (head ? () => world.arrive(head) : null) }
  await world.run(() => false, world.nowMs + plan.settings.leaseMs + 2 * plan.settings.resyncMs)
  const keys = stage.network.primary.engine.keyspace.keys().filter((key) => !EXPECTED.test(key))
  stage.journal.add('redis', 'end', { keys, channels: [], timers: 0 })
  return { stage, events, isThrough: stage.isThrough }
}

interface Outcome {
  readonly stage: Stage
  readonly events: readonly HistoryEvent[]
  readonly isThrough: boolean
}

const findingsOf = ({ stage, events, isThrough }: Outcome, isFaultless: boolean): Finding[] => {
  const { plan, witness, errors, lostLevels, remains } = stage
  const { findings } = verdictOn({
    ...{ plan, events, errors, lostLevels, seen: witness.seen, remains: remains.seen },
    ...{ pools: [], free: [], orphans: [] },
  })
  const acquired = events.filter(({ kind }) => kind === 'acquired')
  const lastMs = acquired.at(-1)?.atMs ?? Infinity
  const fault = (text: string): Finding => ({ rule: 'I4 small scope', text, untilMs: Infinity })
  if (!isThrough) findings.push(fault('a call never ended'))
  if (isFaultless && acquired.length < plan.processes.length)
    findings.push(fault('somebody did not get the lock'))
  // No timer was needed: nothing is lost.
  if (isFaultless && lastMs > BEGIN_MS + plan.settings.resyncMs / 2) {
    findings.push(fault(`somebody got the lock only ${lastMs - BEGIN_MS} ms after it came`))
  }
  return findings
}

export interface Explored {
  readonly histories: number
  readonly redundant: number
  readonly states: number
  readonly isComplete: boolean
  /** How much of all orders it went through, about: 0 to 1. */
  readonly reach: number
  readonly findings: readonly Finding[]
  /** Lines of the history that broke a rule. */
  readonly events: readonly HistoryEvent[]
}

export interface Scope {
  readonly lock: string
  readonly clients: number
  /** At most so many, anywhere. */
  readonly faults: number
}

const stateOf = ({ network, journal }: Stage, heads: readonly Delivery[]): string => {
  const { keyspace } = network.primary.engine
  const keys = keyspace.keys().map((key) => {
    const value = keyspace.get(key)
    return [key, value instanceof Map ? [...value] : value]
  })
  const told = journal.events.map(({ kind, process }) => `${process} ${kind}`)
  const text = JSON.stringify([keys, told, heads.map(({ lane }) => lane).sort()])
  return createHash('sha1').update(text).digest('base64')
}

/** Every order of arrivals that is different for somebody, up to a time. */
export const explore = async ({ lock, clients, faults }: Scope, isOver: () => boolean): Promise<Explored> => {
  const states = new Set<string>()
  const path = new Path(faults, (stage, heads) => states.add(stateOf(stage, heads)))
  const plan = planOf(lock, clients)
  const findings: Finding[] = []
  let [histories, redundant, isComplete] = [0, 0, false]
  let events: readonly HistoryEvent[] = []
  while (!isComplete && !isOver() && findings.length === 0) {
    const outcome = await playOnce(plan, path)
    events = outcome.events
    if (path.isRedundant) redundant += 1
    else {
      histories += 1
      const isFaultless = path.nodes.every(({ tried }) => tried.at(-1)?.isFault === false)
      findings.push(...findingsOf(outcome, isFaultless))
    }
    isComplete = !path.advance()
  }
  const reach = isComplete ? 1 : path.reach
  return { histories, redundant, states: states.size, isComplete, reach, findings, events }
}

/** Orders at random, with at most one fault each. */
class Dice implements Choice {
  private stage: Stage | null = null
  private faultAt = 0
  private depth = 0
  isFaultless = true

  constructor(
    private readonly chance: SeededRandom,
    private readonly look: (stage: Stage, heads: readonly Delivery[]) => void,
  ) {}

  begin(stage: Stage): void {
    this.stage = stage
    this.depth = 0
    this.isFaultless = true
    this.faultAt = this.chance.whole(80)
  }

  next(heads: readonly Delivery[]): () => void {
    const stage = this.stage as Stage
    this.look(stage, heads)
    this.depth += 1
    const faults = this.depth === this.faultAt ? faultsOn(stage) : []
    if (faults.length > 0) this.isFaultless = false
    const chosen = this.chance.pick(faults.length > 0 ? faults : arrivals(stage, heads))
    return () => chosen.run()
  }
}

/** So many orders at random. */
export const sample = async (
  { lock, clients }: Omit<Scope, 'faults'>,
  { chance, times, isOver }: { chance: SeededRandom; times: number; isOver: () => boolean },
): Promise<Explored> => {
  const states = new Set<string>()
  const dice = new Dice(chance, (stage, heads) => states.add(stateOf(stage, heads)))
  const plan = planOf(lock, clients)
  const findings: Finding[] = []
  let histories = 0
  let events: readonly HistoryEvent[] = []
  while (histories < times && !isOver() && findings.length === 0) {
    const outcome = await playOnce(plan, dice)
    events = outcome.events
    histories += 1
    findings.push(...findingsOf(outcome, dice.isFaultless))
  }
  const reach = histories / times
  return { histories, redundant: 0, states: states.size, isComplete: reach === 1, reach, findings, events }
}
