import {
  InvalidArgumentError,
  RedisUnavailableError,
  type LockClient,
  detached,
  type LockHold,
} from '../../index.js'
import {
  checkWork,
  isPlainObject,
  checkClient,
  checkDuration,
  checkInteger,
  checkLease,
  checkName,
  OncePerName,
  warn,
  type KnownKeys,
  checkOptions,
} from '../door.js'
import { BoundedRun } from './bounded-run.js'
import { inRun } from './current-run.js'
import { TickCommands } from './tick-commands.js'
import { scheduleOf } from './ticks.js'
import { WallTicks } from './wall-ticks.js'

/** All durations in milliseconds. */
export interface ExclusiveOptions {
  readonly locks: LockClient
  /**
   * Maximum duration of a run: then its signal aborts and another run may begin. Default: as long as the task runs
   * and its process lives.
   */
  readonly atMostForMs?: number | undefined
  /**
   * Minimum time from the start of a run to the start of the next, by the clock of Redis: keeps a process whose clock
   * is late from repeating a short task when no `tick` identifies the run. Default 0.
   */
  readonly atLeastForMs?: number | undefined
  /**
   * The time between two ticks of a scheduler that provides none, such as `setInterval`. The tick of a call is its time by
   * the clock of the machine, rounded down to a multiple of this; a call up to a tenth early, at most a minute, belongs to the
   * next. All processes agree on it unless one is late by more than nine tenths of it. Default: without a `tick`, nothing
   * identifies a run.
   */
  readonly everyMs?: number | undefined
}

/** Which tick a run is of. */
export interface TickOptions {
  /** Identifies the run: the time it was scheduled for, the same in all processes. ms since 1970, or a Date. */
  readonly tick?: Date | number | undefined
}

const EXCLUSIVE_OPTIONS: KnownKeys<ExclusiveOptions> = {
  locks: true,
  atMostForMs: true,
  atLeastForMs: true,
  everyMs: true,
}
const TICK_OPTIONS: KnownKeys<TickOptions> = { tick: true }

/** The argument of a schedule's task. */
export interface ExclusiveRun {
  readonly name: string
  /** The tick of the call; without one, the time of Redis when the run began. */
  readonly tick: Date
  /** Earlier ticks that were not run or not finished, the earliest first. Each is reported to one run only. */
  readonly missed: readonly Date[]
  /** Aborts with a LockLostError when the lock is lost, and after `atMostForMs`. */
  readonly signal: AbortSignal
  readonly hold: LockHold
  /** Checks locally. @throws LockLostError */
  assertLocked(): void
}

/**
 * Why a run was skipped. `busy`: another run is in progress. `done`: the tick was run. `late`: a later tick was run.
 * `too-soon`: less than `atLeastForMs` since the latest run began.
 */
export type SkipReason = 'busy' | 'done' | 'late' | 'too-soon'

/** The outcome of a tick: its task was run, or why it was skipped. */
export type TickOutcome<T> =
  | { readonly kind: 'ran'; readonly result: T; readonly tick: Date; readonly missed: readonly Date[] }
  | { readonly kind: 'skipped'; readonly reason: SkipReason }

/**
 * Call it from any scheduler, in every process. The arguments schedulers pass by themselves, such as a date or a job,
 * are rejected: ignored, they would start a run without a tick.
 */
export type Scheduled<T> = (options?: TickOptions) => Promise<TickOutcome<T>>

/**
 * Makes a task that only one process of a fleet runs at a time, and at most once per tick. Others skip the run and do
 * not wait. During the run the watchdog renews the lock of that name. ShedLock's semantics, with ticks.
 *
 * The returned function rejects with the error of the task; with LockLostError if the lock was lost although the task
 * succeeded; and, without starting the task, with RedisUnavailableError if Redis does not answer, or with
 * InvalidArgumentError for any argument other than `{ tick }`, for `tick` with `everyMs`, and where one process calls twice
 * for one tick because `everyMs` is longer than the time between two calls. Two ticks of two processes nearer than a tenth of
 * `everyMs`, or with a `tick` than a second, are told of by a process warning, once per schedule.
 * @param name comes first, and the client in the options; `getElection` and `getShare` take the client first
 * @throws InvalidArgumentError
 */
export function exclusive<T>(
  name: string,
  options: ExclusiveOptions,
  task: (run: ExclusiveRun) => Promise<T> | T,
): Scheduled<T> {
  checkName(name, 'a non-empty string and come first, as in exclusive(name, { locks }, task)')
  checkOptions('options', options, EXCLUSIVE_OPTIONS)
  const { locks, atMostForMs, atLeastForMs = 0, everyMs } = options
  checkClient('locks', locks, ['getLock', 'fork'])
  checkWork('task', task)
  checkLease('atMostForMs', atMostForMs)
  checkDuration('atLeastForMs', atLeastForMs, 'zero')
  checkInteger('atLeastForMs', atLeastForMs, 0)
  if (everyMs !== undefined) {
    checkInteger('everyMs', everyMs, 1)
  }
  if (atMostForMs !== undefined && atLeastForMs > atMostForMs) {
    throw new InvalidArgumentError(
      'atLeastForMs',
      atLeastForMs,
      `at most atMostForMs, which is ${atMostForMs}`,
    )
  }
  const limits = { atMostForMs, atLeastForMs }
  const ticking = everyMs === undefined ? undefined : new WallTicks(everyMs)
  // A task that triggers its own schedule starts another run; it must not re-enter.
  const schedule = { name, locks, limits, ticking, task, untold: new Set<number>() }
  return (given) => detached(() => locks.fork(() => runOnce(schedule, given)))
}

interface Schedule<T> {
  readonly name: string
  readonly locks: LockClient
  readonly limits: { readonly atMostForMs: number | undefined; readonly atLeastForMs: number }
  readonly ticking: WallTicks | undefined
  readonly task: (run: ExclusiveRun) => Promise<T> | T
  /** Ticks that came while Redis was unreachable: only this process knows of them. */
  readonly untold: Set<number>
}

/** The number of ticks that Redis keeps. */
const MOST_UNTOLD = 100

async function runOnce<T>(schedule: Schedule<T>, given: TickOptions | undefined): Promise<TickOutcome<T>> {
  const { ticking, locks, name } = schedule
  const tick = tickOf(given) ?? ticking?.next(scheduleOf(locks, name).session.runtime.wallNow())
  if (ticking && given?.tick !== undefined) {
    throw new InvalidArgumentError('tick', tick, 'omitted with everyMs, which determines it')
  }
  const progress = { hasBegun: false }
  try {
    return await beginAndRun(schedule, tick, progress)
  } catch (error) {
    if (tick !== undefined && !progress.hasBegun && error instanceof RedisUnavailableError) {
      remember(schedule.untold, tick)
    }
    throw error
  }
}

/** Drops the earliest when full, as Redis does. */
function remember(untold: Set<number>, tick: number): void {
  untold.add(tick)
  if (untold.size > MOST_UNTOLD) {
    untold.delete(Math.min(...untold))
  }
}

/** Records the ticks missed during an outage before the run begins, so that it gets them as `missed`. */
async function tellUntold(untold: Set<number>, commands: TickCommands): Promise<void> {
  for (const tick of [...untold].sort((a, b) => a - b)) {
    await commands.miss(tick)
    untold.delete(tick)
  }
}

async function beginAndRun<T>(
  schedule: Schedule<T>,
  tick: number | undefined,
  progress: { hasBegun: boolean },
): Promise<TickOutcome<T>> {
  const { name, locks, limits, untold } = schedule
  const { session, keys } = scheduleOf(locks, name)
  const commands = new TickCommands(session, keys)
  const hold = await locks.getLock(name).tryAcquire({ renew: true })
  if (!hold) {
    if (tick !== undefined) {
      // Harmless if the other run has this very tick: its own record replaces this one.
      await commands.miss(tick)
    }
    return { kind: 'skipped', reason: 'busy' }
  }
  const run = new BoundedRun(name, hold, commands, session)
  try {
    await tellUntold(untold, commands)
    const { atLeastForMs } = limits
    const begun = await commands.begin({
      owner: hold.owner,
      tick,
      atLeastForMs,
      near: nearOf(schedule, tick),
    })
    if (begun.kind === 'lost') {
      throw run.lossError()
    }
    if (begun.kind === 'too-far-ahead') {
      throw tooFarAhead(tick, begun.now)
    }
    if (begun.kind !== 'begun') {
      return { kind: 'skipped', reason: begun.kind }
    }
    progress.hasBegun = true
    if (begun.apartMs !== undefined) {
      warnOfNear(name, begun.apartMs)
    }
    run.begun(begun, limits.atMostForMs)
    const result = await run.through(() => inRun(run, () => schedule.task(run)))
    return { kind: 'ran', result, tick: run.tick, missed: run.missed }
  } finally {
    await run.end()
  }
}

const NEAR_TICKS_MS = 1_000
const NEAR_PART = 0.1
const warnedOf = new OncePerName()

/** The least distance to a tick of another process. */
function nearOf(
  { ticking }: Pick<Schedule<unknown>, 'ticking'>,
  tick: number | undefined,
): { tickMs: number; beginMs: number } {
  if (ticking) {
    return { tickMs: 0, beginMs: Math.floor(ticking.everyMs * NEAR_PART) }
  }
  return { tickMs: tick === undefined ? 0 : NEAR_TICKS_MS, beginMs: 0 }
}

function warnOfNear(name: string, apartMs: number): void {
  if (warnedOf.take(name)) {
    warn(
      'HOLDFAST_NEAR_TICKS',
      `The schedule "${name}" has run two ticks of two processes ${apartMs} ms apart: most likely it has run one tick twice. ` +
        'Pass the time for which the tick was scheduled, not the time of the call, or set everyMs to the time between two ticks in ' +
        'every process; and compare their clocks.',
    )
  }
}

function tooFarAhead(tick: number | undefined, now: number): InvalidArgumentError {
  const rule = `milliseconds since 1970, at most an hour ahead of the clock of Redis, where it is ${now}`
  return new InvalidArgumentError('tick', tick, rule)
}

/** @throws InvalidArgumentError */
function tickOf(given: TickOptions | undefined): number | undefined {
  if (given === undefined) {
    return undefined
  }
  if (!isPlainObject(given)) {
    throw new InvalidArgumentError('options', given, 'omitted, or an object as in { tick: date }')
  }
  checkOptions('options', given, TICK_OPTIONS)
  const { tick } = given
  if (tick === undefined) {
    return undefined
  }
  const time = tick instanceof Date ? tick.getTime() : tick
  checkInteger('tick', time, 0)
  return time
}
