// Mistakes in what is told of a caller's mistake: nothing, twice, or to one who made none.
const STRANGERS = 'packages/core/test/redis/strangers.test.ts'
const SELF_WAITS = 'packages/core/test/redis/self-waits.test.ts'
const DEFAULTS = 'packages/core/test/redis/defaults-of-a-client.test.ts'
const LIMITS = 'core/src/acquire/acquire-options.ts'

export const BUGS_IN_WHAT_IS_TOLD = {
  'a hold that outlives its context is not told of': {
    file: 'core/src/client/context-ends.ts',
    find: 'this.warnOf(held)',
    replace: '',
    test: STRANGERS,
    only: 'a forgotten unlock',
  },
  'a hold that outlives its context is told of each time': {
    file: 'core/src/client/context-ends.ts',
    find: 'if (names.filter((name) => warnedOf.take(name)).length > 0)',
    replace: 'if (true)',
    test: STRANGERS,
    only: 'a forgotten unlock',
  },
  'a hold that may outlive its context is told of': {
    file: 'core/src/client/context-ends.ts',
    find: "if (this.policy === 'keep' || !context.keepsAny)",
    replace: 'if (!context.keepsAny)',
    test: 'packages/core/test/redis/context-ends.test.ts',
    only: 'nothing is said$',
  },
  'each member of a multi lock that outlives its context is told of apart': {
    file: 'core/src/client/context-ends.ts',
    find: 'byOrigin.set(origin ?? latestLevel, call)',
    replace: 'byOrigin.set(latestLevel, call)',
    test: 'packages/core/test/redis/context-ends.test.ts',
    only: 'taken: a multi lock$',
  },
  'what a multi lock holds in another client outlives its context unheard': {
    file: 'core/src/compound/linked-context.ts',
    find: 'home.contextEnds.link(leader, () => session.contextEnds.ended(made))',
    replace: '',
    test: 'packages/core/test/redis/context-ends.test.ts',
    only: 'of another client',
  },
  'a Redis out of reach is not told of': {
    file: 'core/src/client/outage-reporter.ts',
    find: 'if (trusted.length > 0)',
    replace: 'if (false)',
    test: STRANGERS,
    only: 'within 3 s why',
  },
  'a Redis that is away for a moment is told of': {
    file: 'core/src/client/outage-reporter.ts',
    find: "if (port.state === 'ready') { this.timer?.cancel() this.timer = null",
    replace: "if (port.state === 'ready') {",
    test: STRANGERS,
    only: 'away for a moment',
  },
  'what ioredis listens on at the Sentinels keeps a process alive': {
    file: 'core/src/redis/ioredis/client.ts',
    find: 'if (options?.lazyConnect === true)',
    replace: 'if (false)',
    test: 'packages/core/test/redis/process-end-sentinel.test.ts',
    only: 'listens at every Sentinel',
  },
  'a wait for what changes hands is told of': {
    file: 'core/src/client/self-waits.ts',
    find: 'if (this.held.byHand(wait.protocol.key) === holder)',
    replace: 'if (this.held.byHand(wait.protocol.key))',
    test: SELF_WAITS,
    only: 'changes hands',
  },
  'a wait for what its own client holds is not told of': {
    file: 'core/src/client/self-waits.ts',
    find: 'this.watched.add(wait, holder)',
    replace: '',
    test: STRANGERS,
    only: 'acquire, then withLock',
  },
  'a name that was warned of is forgotten': {
    file: 'core/src/events.ts',
    find: 'this.seen.add(name)',
    replace: '',
    test: SELF_WAITS,
    only: 'three ways out',
  },
  'a wait for another client is taken for one for its own': {
    file: 'core/src/client/self-waits.ts',
    find: 'if (holder && isUnscopedWarningDue(wait.lockName))',
    replace: 'if (isUnscopedWarningDue(wait.lockName))',
    test: SELF_WAITS,
    only: 'nothing is said of',
  },
  'a forgotten await is not told of': {
    file: 'core/src/acquire/unscoped-calls.ts',
    find: 'if (this.pending > 0)',
    replace: 'if (false)',
    test: STRANGERS,
    only: 'a forgotten await',
  },
  'a forgotten await is told of where none was': {
    file: 'core/src/acquire/unscoped-calls.ts',
    find: 'if (this.pending > 0)',
    replace: 'if (true)',
    test: 'packages/core/test/redis/forgotten-await.test.ts',
    only: 'says nothing of await',
  },
  'the waitMs of a client limits no wait': {
    file: LIMITS,
    find: 'waitMs = defaults.waitMs',
    replace: 'waitMs = undefined',
    test: DEFAULTS,
    only: 'of a client: lock waitMs limits each call',
  },
  'the leaseMs of a client is no lease': {
    file: LIMITS,
    find: 'leaseMs = defaults.leaseMs',
    replace: 'leaseMs = undefined',
    test: DEFAULTS,
    only: 'of a client: lock leaseMs is the lease',
  },
  'a wait without a limit is never told of': {
    file: 'core/src/diagnostics/endless-waits.ts',
    find: 'warnOf(wait, now - wait.startedAt)',
    replace: '',
    test: DEFAULTS,
    only: 'a minute is told of',
  },
  'a wait without a limit on purpose is told of': {
    file: 'core/src/diagnostics/wait-reporter.ts',
    find: 'if (wait.isUnlimited)',
    replace: 'if (true)',
    test: DEFAULTS,
    only: 'on purpose, or for oneself',
  },
}
