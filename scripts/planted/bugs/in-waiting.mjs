// Mistakes in waiting: wake-ups that get lost, and callers that leave something behind.
import { CROWD, DEAF, LATE_GRANTS, NO_WAKES, ONLY_WAKES } from '../tortures.mjs'

const LINE = 'waiter/src/wait-line.ts'
const CALLER = 'waiter/src/parked-caller.ts'
const MESSAGES = 'core/src/redis/messages.ts'
const CLOCK = 'packages/core/test/redis/redis-clock-lines.test.ts'

export const BUGS_IN_WAITING = {
  'no try after the subscription': {
    file: 'waiter/src/line-subscription.ts',
    find: 'this.isConfirmed = this.topic === topic this.on.onConfirmed()',
    replace: 'this.isConfirmed = this.topic === topic',
    torture: ONLY_WAKES,
  },
  'a wake-up during a try is forgotten': {
    file: LINE,
    find: 'this.wakes += 1',
    replace: '',
    test: 'packages/waiter/test/unit/wait-line.test.ts',
    only: 'does not believe a refusal',
  },
  'who leaves a line ends its subscription': {
    file: LINE,
    find: 'const wasHead = caller === this.callers.head',
    replace: 'const wasHead = caller === this.callers.head; this.subscription?.drop()',
    torture: ONLY_WAKES,
  },
  'the first listener that leaves a topic unsubscribes it for all': {
    file: 'waiter/src/topic-subscriptions.ts',
    find: 'else this.listeners.delete(listener)',
    replace: 'else this.listeners.clear()',
    test: 'packages/waiter/test/unit/topic-subscriptions.test.ts',
  },
  'a head that leaves takes the wake-up along': {
    file: LINE,
    find: 'else if (wasHead) this.tryNext() else if (flight',
    replace:
      "else if (wasHead) { this.flight = undefined; this.stopPause(); this.sleep({ kind: 'refused' }) } else if (flight",
    test: 'packages/waiter/test/unit/random-mutex.test.ts',
  },
  'a caller that fits into what is left waits behind a head that wants more': {
    file: LINE,
    find: 'if (left === undefined || left <= 0) return false',
    replace: 'return false',
    test: 'packages/core/test/redis/semaphore-waiting.test.ts',
    only: 'passes it with 1',
  },
  'a caller that comes while enough is left waits behind a head that wants more': {
    file: LINE,
    find: 'if (!this.flight && caller.isHere && fits(caller, this.left))',
    replace: 'if (false)',
    test: 'packages/waiter/test/unit/passing.test.ts',
    only: 'try at once',
  },
  'what is left is lost with a caller that passes and leaves before its answer': {
    file: LINE,
    find: 'else if (flight && !flight.answer) this.tryNext() else if (flight)',
    replace: 'else if (flight?.answer)',
    test: 'packages/waiter/test/unit/passing.test.ts',
    only: 'leaves before its answer',
  },
  'no resync': {
    file: 'waiter/src/retry-pause.ts',
    find: 'Math.min(Math.max(retryAfterMs, 1), resyncIntervalMs)',
    replace: 'Math.max(retryAfterMs, 1)',
    torture: NO_WAKES,
  },
  'no try after a reconnect': {
    file: MESSAGES,
    find: 'if (topic.wasHeard) { this.tellSoon()',
    replace: 'if (false) { this.tellSoon()',
    test: 'packages/core/test/redis/unavailable.test.ts',
    only: 'although it heard no message',
  },
  'subscriptions are not made again after a reconnect': {
    file: MESSAGES,
    find: 'if (isOver) { this.assign(topic)',
    replace: 'if (isOver) { void topic',
    torture: DEAF,
  },
  'a grant that comes after the deadline is kept': {
    file: 'core/src/acquire/contention.ts',
    find: 'this.abandon() return outcome.kind',
    replace: 'return outcome.kind',
    torture: LATE_GRANTS,
  },
  'an abort while the grant is on its way leaves it there': {
    file: 'core/src/acquire/contention.ts',
    find: 'this.abandon() return this.call.failed',
    replace: 'return this.call.failed',
    torture: LATE_GRANTS,
  },
  'a deadline is ignored while nobody answers': {
    file: CALLER,
    find: '!outcome && limit && host.clock.now() < limit.patientUntil',
    replace: "outcome?.kind !== 'timeout' && limit",
    test: 'packages/waiter/test/unit/unavailable.test.ts',
  },
  'a wait that was served leaves its timer': {
    file: 'waiter/src/deadline.ts',
    find: 'this.timer.cancel()',
    replace: 'Object.assign(this, { onPassed: () => undefined })',
    torture: CROWD,
  },
  'who was served can still be ended by a signal': {
    file: 'waiter/src/caller-list.ts',
    find: 'this.remove(caller) caller.close()',
    replace: 'this.remove(caller)',
    test: 'packages/waiter/test/unit/conclusions.test.ts',
  },
  'what was handed over is published in the context of who did': {
    file: 'core/src/acquire/contention.ts',
    find: 'return observer ? observer.runInAsyncScope(() => this.goOn(outcome)) : this.goOn(outcome)',
    replace: 'return this.goOn(outcome)',
    test: 'packages/otel/test/redis/spans.test.ts',
  },
  'a caller that was ended by another with the same signal is ended again': {
    file: 'waiter/src/abort-listeners.ts',
    find: 'if (callbacks.has(callback)) callback()',
    replace: 'callback()',
    test: 'packages/waiter/test/unit/shared.test.ts',
  },
  'a dead waiter of a fair lock lives on by as much as the clock of Redis is set back': {
    file: 'core/src/scripts/fair-lock/release.lua',
    find: 'if q.heard and q.heard > q.now then',
    replace: 'if false then',
    test: CLOCK,
    only: 'is not its own for as long',
  },
  'a life that nobody lives counts': {
    file: 'core/src/scripts/fair-lock/release.lua',
    find: "redis.call('hdel', q.heartbeats, client) untilMs = 0",
    replace: '',
    test: CLOCK,
    only: 'before a release',
  },
  'a dead waiter of a plain lock lives on by as much as the clock of Redis is set back': {
    file: 'core/src/scripts/lock/acquire.lua',
    find: "local isOver = -tonumber(redis.call('zscore', line, 'heard') or 0) > now",
    replace: 'local isOver = false',
    test: CLOCK,
    only: 'nor when others asked again',
  },
  'readers stand back for a dead writer by as much as the clock of Redis is set back': {
    file: 'core/src/scripts/read-lock/acquire.lua',
    find: "redis.pcall('zcount', writers, now, now + LONGEST_LIFE_MS)",
    replace: "redis.pcall('zcount', writers, now, '+inf')",
    test: CLOCK,
    only: 'readers do not stand back',
  },
  'a time-out takes any lease for its own': {
    file: 'core/src/lock-holder.ts',
    find: '...(facts.leaseLeftMs > longestLeaseMs && !isForeign && { longestLeaseMs }),',
    replace: '',
    test: CLOCK,
    only: 'longer than any that this client takes',
  },
}
