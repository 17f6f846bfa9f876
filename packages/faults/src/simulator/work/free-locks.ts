import type { Keyspace } from '../engine.js'
import type { World } from '../world/world.js'
import { keysOf } from './keys-of.js'

const LOOK_MS = 40

/** Redis had nothing of a lock, whenever somebody looked between two moments. */
export interface FreeSpan {
  readonly lock: string
  readonly fromMs: number
  readonly toMs: number
}

/** Looks again and again which locks Redis has nothing of. What is taken and released between two looks is not seen. */
export class FreeLocks {
  readonly seen: { lock: string; fromMs: number; toMs: number }[] = []
  private isOver = false
  private readonly open = new Map<string, { toMs: number }>()

  constructor(
    private readonly world: World,
    private readonly keyspace: () => Keyspace,
    private readonly locks: readonly string[],
  ) {}

  /** No more. */
  stop(): void {
    this.isOver = true
  }

  /** From now on. */
  look(): void {
    if (this.isOver) return
    const { nowMs } = this.world
    const keyspace = this.keyspace()
    for (const lock of this.locks) {
      if (keysOf(lock).some((key) => keyspace.hash(key) !== undefined)) {
        this.open.delete(lock)
        continue
      }
      const span = this.open.get(lock)
      if (span) span.toMs = nowMs
      else {
        const begun = { lock, fromMs: nowMs, toMs: nowMs }
        this.seen.push(begun)
        this.open.set(lock, begun)
      }
    }
    this.world.after(LOOK_MS, () => this.look())
  }
}
