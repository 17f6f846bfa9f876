import { AsyncLocalStorage } from 'node:async_hooks'
import { SelfDeadlockError } from '../../index.js'
import { type LockServices, oncePerProcess } from '../door.js'

/** The share that a run belongs to. */
export interface RunName {
  readonly session: LockServices
  readonly lockName: string
}

/** A function that runs, and the runs that calls inside it wait for: how many calls, by client and lock. */
interface RunningTask {
  readonly name: string
  readonly lockName: string
  readonly waits: Map<string, number>
}

interface Runs {
  /** The run around a caller. */
  readonly around: AsyncLocalStorage<RunningTask>
  /** Several of one name: one that lost its lock may go on beside the next. */
  readonly running: Map<string, Set<RunningTask>>
}

const runs = oncePerProcess<Runs>('share-runs', () => ({
  around: new AsyncLocalStorage(),
  running: new Map(),
}))

function nameOf({ session, lockName }: RunName): string {
  return `${session.clientId} ${lockName}`
}

/** Calls the function, in which calls are known to be inside this run. */
export async function callInside<T>(run: RunName, task: () => Promise<T>): Promise<T> {
  const name = nameOf(run)
  const running: RunningTask = { name, lockName: run.lockName, waits: new Map() }
  const ofName = runs.running.get(name) ?? new Set()
  runs.running.set(name, ofName.add(running))
  try {
    return await runs.around.run(running, task)
  } finally {
    ofName.delete(running)
    if (ofName.size === 0) {
      runs.running.delete(name)
    }
  }
}

/** A call inside a run. */
export interface CallInside {
  /** Notes that it waits for another run, until `over` settles. */
  waits(over: Promise<unknown>): void
  /** Runs of other processes are not seen: a wait without a limit that lasts is told of. */
  endless(): { readonly begins: () => void; readonly ends: () => void }
}

/** @throws SelfDeadlockError the run that is wanted is the one that makes the call, or waits for it */
export function refuseCycle(wanted: RunName): CallInside | undefined {
  const inside = runs.around.getStore()
  if (!inside) {
    return undefined
  }
  const name = nameOf(wanted)
  if (inside.name === name || waitsFor(name, inside)) {
    const why =
      inside.name === name
        ? 'the run of this key makes the call. Call what it needs directly'
        : 'the run of this key waits for the one that makes the call. Let one of them call what it needs directly'
    throw new SelfDeadlockError(wanted.lockName, wanted.session.clientId, why)
  }
  const waits = (over: Promise<unknown>): void => {
    inside.waits.set(name, (inside.waits.get(name) ?? 0) + 1)
    const settled = (): void => {
      const left = (inside.waits.get(name) ?? 1) - 1
      if (left === 0) {
        inside.waits.delete(name)
      } else {
        inside.waits.set(name, left)
      }
    }
    over.then(settled, settled)
  }
  return { waits, endless: () => endlessOf(wanted, inside) }
}

function endlessOf({ session, lockName }: RunName, inside: RunningTask): ReturnType<CallInside['endless']> {
  const why =
    `the run of "${inside.lockName}" makes the call. If the run that it waits for needs that one, in another process, both ` +
    'wait for ever'
  const wait = { lockName, what: 'A share', why, startedAt: session.runtime.now() }
  const { endless } = session.reports.waits
  return { begins: () => endless.parked(wait), ends: () => endless.ended(wait) }
}

/** Whether a run of this name waits for the other one, perhaps through further runs. */
function waitsFor(name: string, other: RunningTask): boolean {
  const seen = new Set<string>()
  const ahead = [name]
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    if (next === other.name) {
      return true
    }
    if (!seen.has(next)) {
      seen.add(next)
      for (const { waits } of runs.running.get(next) ?? []) {
        ahead.push(...waits.keys())
      }
    }
  }
  return false
}
