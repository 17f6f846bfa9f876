import type { LockClient } from '../../index.js'
import { ticksKey, type LockServices, checkClient } from '../door.js'
import { read, type KeptTick, type ScheduleArguments } from './scripts.js'

/** The record of one tick. Times are by the clock of Redis. */
export interface TickRecord {
  /** The tick of the call; for a run without one, the time it began. */
  readonly tick: Date
  /**
   * `running`; `done`; `failed`: the task threw; `lost`: the lock was lost during the run, or `atMostForMs` was
   * exceeded; `unfinished`: the process died or was paused until the lock had expired; `missed`: not run, because an
   * earlier run was still in progress or a later one had begun.
   */
  readonly state: KeptTick['state']
  /** When it began, or was recorded as missed. */
  readonly from: Date
  /** When it ended; undefined if that was not recorded. */
  readonly to: Date | undefined
  /** The owner that ran it: `<clientId>:<threadId>`; the client id starts with the client's name. */
  readonly owner: string | undefined
  /** The task's error, as text. */
  readonly error: string | undefined
}

/** @throws InvalidArgumentError, ClientClosedError */
export function scheduleOf(
  locks: LockClient,
  name: string,
): { session: LockServices; keys: ScheduleArguments } {
  checkClient('locks', locks)
  const { session, protocol } = locks.getLock(name)
  return { session, keys: { lockName: name, key: protocol.key, ticksKey: ticksKey(protocol.key) } }
}

/**
 * Reads the latest 100 ticks of a schedule, the earliest first, with their owners and outcomes.
 * @throws InvalidArgumentError, RedisUnavailableError, ClientClosedError
 */
export async function ticksOf(locks: LockClient, name: string): Promise<TickRecord[]> {
  const { session, keys } = scheduleOf(locks, name)
  const { owners, ticks } = await read(session.runner, keys)
  return ticks.map(([tick, { state, from, to, owner, error }]) => ({
    tick: new Date(tick),
    // Not recorded as such yet: the next run will do that.
    state: state === 'running' && !owners.includes(owner ?? '') ? 'unfinished' : state,
    from: new Date(Number(from)),
    to: to === undefined ? undefined : new Date(Number(to)),
    owner,
    error,
  }))
}
