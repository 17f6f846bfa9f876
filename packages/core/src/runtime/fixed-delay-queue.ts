import { SoonestTimer } from './soonest-timer.js'
import type { Clock } from './runtime.js'

export interface FixedDelay<K, V> {
  readonly delayMs: number
  /** Called for an entry that is still there after the delay, and has just left the queue. It may add it again. */
  due(key: K, value: V): void
  /** Called first when the timer fires. */
  beforeDue?(): void
}

interface Entry<V> {
  readonly value: V
  readonly dueAt: number
}

/** Entries that come due after the same delay, unless they are removed before: one timer for all of them. */
export class FixedDelayQueue<K, V> {
  /** In order of due time, because the delay is the same for all. */
  private readonly entries = new Map<K, Entry<V>>()
  private readonly timer: SoonestTimer

  constructor(
    private readonly clock: Clock,
    private readonly of: FixedDelay<K, V>,
  ) {
    this.timer = new SoonestTimer(clock, () => this.fire())
  }

  /** The delay of an entry that is there already begins anew. */
  add(key: K, value: V): void {
    const { delayMs } = this.of
    // Map.set would leave the entry at its old place in the order.
    this.entries.delete(key)
    this.entries.set(key, { value, dueAt: this.clock.now() + delayMs })
    this.timer.within(delayMs)
  }

  remove(key: K): void {
    if (this.entries.size > 0 && this.entries.delete(key) && this.entries.size === 0) {
      this.timer.cancel()
    }
  }

  private fire(): void {
    this.of.beforeDue?.()
    const now = this.clock.now()
    for (const [key, { value, dueAt }] of this.entries) {
      if (dueAt > now) {
        this.timer.within(dueAt - now)
        return
      }
      this.entries.delete(key)
      this.of.due(key, value)
    }
  }
}
