import type { Span } from '../../workload/permit-uses.js'
import type { Keyspace } from '../engine.js'
import type { World } from '../world/world.js'
import { keysOf } from './keys-of.js'
import { SpansSeen } from './spans-seen.js'

const LOOK_MS = 40

/** Redis had nothing of a lock, whenever somebody looked between two moments. */
export interface FreeSpan extends Span {
  readonly lock: string
}

/** Looks again and again which locks Redis has nothing of. What is taken and released between two looks is not seen. */
export class FreeLocks {
  private readonly spans = new SpansSeen<{ readonly lock: string }>()
  private isOver = false

  constructor(
    private readonly world: World,
    private readonly keyspace: () => Keyspace,
    private readonly locks: readonly string[],
  ) {}

  get seen(): readonly FreeSpan[] {
    return this.spans.all
  }

  /** No more. */
  stop(): void {
    this.isOver = true
  }

  /** From now on. */
  look(): void {
    if (this.isOver) return
    const keyspace = this.keyspace()
    const free = this.locks.filter((lock) => keysOf(lock).every((key) => keyspace.hash(key) === undefined))
    this.spans.look(this.world.nowMs, new Map(free.map((lock) => [lock, { lock }])))
    this.world.after(LOOK_MS, () => this.look())
  }
}
