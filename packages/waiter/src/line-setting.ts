import type { Timer, WaiterClock } from './clock.js'
import type { TopicSubscriptions } from './topic-subscriptions.js'

/** Settings shared by all lines of one waiter. Durations in milliseconds. */
export interface LineSetting {
  readonly clock: WaiterClock
  readonly random: () => number
  readonly topics: TopicSubscriptions
  readonly resyncIntervalMs: number
  readonly unavailableTimeoutMs: number
  /** See `WaiterOptions`. */
  afterAnswers(delayMs: number, fire: () => void): Timer
  onEmpty(queue: string): void
}
