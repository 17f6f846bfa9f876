import { tokensOf } from '../../workload/lock-kinds.js'
import { type Keyspace, SortedSet, type Value } from '../engine.js'
import { chanceOf } from '../world/chance.js'
import type { World } from '../world/world.js'
import { Server } from './server.js'

const CLOCKS_APART_MS = 50

/** The servers of a world: a primary, and by and by others in its place. */
export class Network {
  primary: Server
  private made = 0

  constructor(
    private readonly world: World,
    private readonly seed: number,
  ) {
    this.primary = this.newServer()
  }

  /**
   * Another server takes the place of the primary, with the keys that were copied to it. Who was connected to the former
   * one goes on with it until its connection breaks.
   * @returns the former one
   */
  failOver(copied: Copy): Server {
    const former = this.primary
    const next = this.newServer()
    // Clocks of two machines differ.
    next.stepClock(former.nowMs - next.nowMs + (this.made % 2 === 0 ? CLOCKS_APART_MS : -CLOCKS_APART_MS))
    copied.into(next.engine.keyspace)
    this.primary = next
    return former
  }

  private newServer(): Server {
    this.made += 1
    return new Server(this.world, chanceOf(this.seed, `server ${this.made}`))
  }
}

/** A replica's copy of its primary's keys, and no write since. */
export class Copy {
  private readonly entries: readonly { key: string; value: Value; endsAt: number | null }[]

  constructor(keyspace: Keyspace) {
    this.entries = keyspace.keys().map((key) => ({
      key,
      value: cloneOf(keyspace.get(key) as Value),
      endsAt: keyspace.endOf(key) ?? null,
    }))
  }

  into(keyspace: Keyspace): void {
    for (const { key, value, endsAt } of this.entries) {
      keyspace.set(key, value)
      keyspace.setEnd(key, endsAt)
    }
  }
}

const cloneOf = (value: Value): Value => {
  if (typeof value === 'string') return value
  if (value instanceof SortedSet) {
    const clone = new SortedSet()
    for (const member of value.members) clone.set(member, value.score(member) as number)
    return clone
  }
  return value instanceof Map ? new Map(value) : [...value]
}

/**
 * The duty of an operator whose fenced locks count and whose Redis lost its data: sets each counter to the greatest
 * token that the register has seen.
 */
export const restoreCounters = (
  server: Server,
  locks: readonly string[],
  greatestOf: (lock: string) => bigint | undefined,
): void => {
  for (const lock of locks.filter((name) => tokensOf(name) === 'counter')) {
    const greatest = greatestOf(lock)
    if (greatest !== undefined) server.command('SET', `redisson_lock_token:{${lock}}`, String(greatest))
  }
}
