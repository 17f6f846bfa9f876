import type { World } from '../world/world.js'
import type { Server } from '../network/server.js'
import type { Held } from '../../workload/attempt.js'
import type { Witness } from './attempt.js'

/** Somebody trusted its lock for longer than Redis keeps it. */
export interface Overtrust {
  readonly atMs: number
  readonly lock: string
  readonly owner: string
  readonly untilMs: number
  /** When the lock ends in Redis; undefined: it is not there, or not its client's. */
  readonly leaseEndsMs: number | undefined
}

/** I3, seen from above: whenever a process says until when it trusts its lock, Redis has it for at least as long. */
export class RedisWitness implements Witness {
  readonly seen: Overtrust[] = []
  looks = 0

  constructor(
    private readonly world: World,
    private readonly primary: () => Server,
  ) {}

  believes({ hold, lock, owner }: Held, untilMs: number): void {
    const atMs = this.world.nowMs
    if (untilMs <= atMs) return
    this.looks += 1
    const leaseEndsMs = this.leaseEndOf(lock, hold.owner)
    if (leaseEndsMs === undefined || leaseEndsMs < untilMs) {
      this.seen.push({ atMs, lock, owner, untilMs, leaseEndsMs })
    }
  }

  /** By the clock of the world. */
  private leaseEndOf(lock: string, owner: string): number | undefined {
    const { engine, nowMs } = this.primary()
    const holds = engine.keyspace.hash(lock)
    // By client: the name in Redis follows a pass in memory at the end of the turn.
    const client = owner.slice(0, owner.indexOf(':') + 1)
    if (![...(holds?.keys() ?? [])].some((field) => field.startsWith(client))) return undefined
    const endsAt = engine.keyspace.endOf(lock) ?? Infinity
    return endsAt - nowMs + this.world.nowMs
  }
}
