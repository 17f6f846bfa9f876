import { InvalidArgumentError, RedisUnavailableError } from '../errors.js'
import type { KnownKeys } from '../arguments/unknown-key.js'
import type { LockClient } from '../lock-client.js'
import type { LockHold } from '../hold.js'
import { isPlainObject } from '../runtime/plain-object.js'
import {
  checkClient,
  checkDuration,
  checkFunction,
  checkInteger,
  checkLease,
  checkName,
  checkOptions,
} from '../arguments/validate.js'
import { BoundedRun } from './bounded-run.js'
import { inRun } from './current-run.js'
import { TickCommands } from './tick-commands.js'
import { scheduleOf } from './ticks.js'

/** All durations in milliseconds. */
export interface ExclusiveOptions {
  readonly locks: LockClient
  /**
   * The longest that a run may have the lock: then its signal aborts and another may begin. Left out: for as long as
   * the task runs and its process lives.
   */
  readonly atMostForMs?: number | undefined
  /**
   * For so long after a run has begun no other begins, by the clock of Redis: what keeps a process whose clock is late
   * from running a short task again, where no `tick` tells. Default 0.
   */
  readonly atLeastForMs?: number | undefined
}

export interface TickOptions {
  /** Which one it is: the time it was scheduled for, the same in all processes. ms since 1970, or a Date. */
  readonly tick?: Date | number | undefined
}

const EXCLUSIVE_OPTIONS: KnownKeys<ExclusiveOptions> = { locks: true, atMostForMs: true, atLeastForMs: true }
const TICK_OPTIONS: KnownKeys<TickOptions> = { tick: true }

/** What the task of a schedule is given. */
export interface ExclusiveRun {
  readonly name: string
  /** As it was given; without one, when Redis saw it begin. */
  readonly tick: Date
  /** Earlier ticks that nobody ran or finished, the earliest first. Each is told to one run. */
  readonly missed: readonly Date[]
  /** Aborts with a LockLostError when the lock is lost, and when `atMostForMs` is over. */
  readonly signal: AbortSignal
  readonly hold: LockHold
  /** Local. @throws LockLostError */
  assertLocked(): void
}

/**
 * Why a run was skipped. `busy`: another goes on. `done`: the tick was run. `late`: a later one was. `too-soon`: less
 * than `atLeastForMs` since the latest began.
 */
export type SkipReason = 'busy' | 'done' | 'late' | 'too-soon'

export type TickOutcome<T> =
  | { readonly kind: 'ran'; readonly result: T; readonly tick: Date; readonly missed: readonly Date[] }
  | { readonly kind: 'skipped'; readonly reason: SkipReason }

/**
 * For any scheduler to call, in every process. What a scheduler passes by itself, such as a date or a job, is refused:
 * taken for nothing it would be a run without a tick.
 */
export type Scheduled<T> = (options?: TickOptions) => Promise<TickOutcome<T>>

/**
 * A task that one process of a fleet runs at a time, and each tick at most once: whoever comes second skips it and does
 * not wait. While it runs the watchdog keeps the lock of its name. ShedLock's semantics, with ticks.
 *
 * The function it returns rejects with what the task throws; with LockLostError when the lock was lost although the
 * task succeeded; with RedisUnavailableError when Redis does not answer, and with InvalidArgumentError for anything but
 * `{ tick }` or nothing: then the task was not begun.
 * @throws InvalidArgumentError
 */
export function exclusive<T>(
  name: string,
  options: ExclusiveOptions,
  task: (run: ExclusiveRun) => Promise<T> | T,
): Scheduled<T> {
  checkName(name)
  checkOptions('options', options, EXCLUSIVE_OPTIONS)
  const { locks, atMostForMs, atLeastForMs = 0 } = options
  checkClient('locks', locks, ['getLock', 'fork'])
  checkFunction('task', task)
  checkLease('atMostForMs', atMostForMs)
  checkDuration('atLeastForMs', atLeastForMs, 'zero')
  checkInteger('atLeastForMs', atLeastForMs, 0)
  if (atMostForMs !== undefined && atLeastForMs > atMostForMs) {
    throw new InvalidArgumentError('atLeastForMs', atLeastForMs, 'at most atMostForMs')
  }
  const limits = { atMostForMs, atLeastForMs }
  // A task that triggers its own schedule is another run, not a re-entry.
  const schedule = { name, locks, limits, task, untold: new Set<number>() }
  return (given) => locks.fork(() => runOnce(schedule, given), { detached: true })
}

interface Schedule<T> {
  readonly name: string
  readonly locks: LockClient
  readonly limits: { readonly atMostForMs: number | undefined; readonly atLeastForMs: number }
  readonly task: (run: ExclusiveRun) => Promise<T> | T
  /** Ticks that came while Redis did not answer: nobody else knows of them. */
  readonly untold: Set<number>
}

/** As many as Redis keeps. */
const MOST_UNTOLD = 100

async function runOnce<T>(schedule: Schedule<T>, given: TickOptions | undefined): Promise<TickOutcome<T>> {
  const tick = tickOf(given)
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

/** The earliest make room, as in Redis. */
function remember(untold: Set<number>, tick: number): void {
  untold.add(tick)
  if (untold.size > MOST_UNTOLD) {
    untold.delete(Math.min(...untold))
  }
}

/** Notes in Redis what came while it did not answer, before the run begins that is told of it. */
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
  const { session, command } = scheduleOf(locks, name)
  const commands = new TickCommands(session, command)
  const hold = await locks.getLock(name).tryAcquire()
  if (!hold) {
    if (tick !== undefined) {
      // It may be this very tick that the other runs: it says so soon, or has.
      await commands.miss(tick)
    }
    return { kind: 'skipped', reason: 'busy' }
  }
  const run = new BoundedRun(name, hold, commands, session)
  try {
    await tellUntold(untold, commands)
    const begun = await commands.begin(hold.owner, tick, limits.atLeastForMs)
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
    run.begun(begun, limits.atMostForMs)
    const result = await run.through(() => inRun(run, () => schedule.task(run)))
    return { kind: 'ran', result, tick: run.tick, missed: run.missed }
  } finally {
    await run.end()
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
    throw new InvalidArgumentError('options', given, 'left out, or an object as in { tick: date }')
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
