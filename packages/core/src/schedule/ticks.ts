import type { LockClient } from '../lock-client.js'
import { ticksKey } from '../keys.js'
import { read, type KeptTick, type ScheduleCommand } from '../scripts/schedule.js'
import type { Session } from '../client/session.js'
import { checkClient } from '../arguments/validate.js'

/** What is known of one tick. Times are those of Redis's clock. */
export interface TickRecord {
  /** As it was given; for a run without one, when it began. */
  readonly tick: Date
  /**
   * `running`; `done`; `failed`: the task threw; `lost`: the lock was lost in the middle, or `atMostForMs` was over;
   * `unfinished`: its process died or stood still until the lock had ended; `missed`: whoever was to run it could not,
   * because an earlier run went on or a later one had begun.
   */
  readonly state: KeptTick['state']
  /** When it began, or was found to be missed. */
  readonly from: Date
  /** When it ended; undefined where nobody noted that. */
  readonly to: Date | undefined
  /** Who ran it: `<clientId>:<threadId>`; the client id starts with the client's name. */
  readonly owner: string | undefined
  /** What the task threw, as text. */
  readonly error: string | undefined
}

/** @throws InvalidArgumentError, ClientClosedError */
export function scheduleOf(locks: LockClient, name: string): { session: Session; command: ScheduleCommand } {
  checkClient('locks', locks)
  const { session, protocol } = locks.getLock(name)
  return { session, command: { lockName: name, key: protocol.key, ticksKey: ticksKey(protocol.key) } }
}

/**
 * The latest 100 ticks of a schedule, the earliest first: who ran them, and what came of them.
 * @throws InvalidArgumentError, RedisUnavailableError, ClientClosedError
 */
export async function ticksOf(locks: LockClient, name: string): Promise<TickRecord[]> {
  const { session, command } = scheduleOf(locks, name)
  const { owners, ticks } = await read(session.runner, command)
  return ticks.map(([tick, { state, from, to, owner, error }]) => ({
    tick: new Date(tick),
    // Nobody has noted it yet: whoever runs the next one will.
    state: state === 'running' && !owners.includes(owner ?? '') ? 'unfinished' : state,
    from: new Date(Number(from)),
    to: to === undefined ? undefined : new Date(Number(to)),
    owner,
    error,
  }))
}
