// Mistakes in semaphores and latches.
const POOL = '--kinds semaphore --processes 2 --faults'
const LATCH = '--kinds latch --processes 2 --faults'

const ONCE = 'if operation.outcome then return operation.outcome end'

export const BUGS_IN_PERMITS = {
  'a release of permits that is sent twice adds twice': {
    file: 'core/src/scripts/semaphore/release.lua',
    find: ONCE,
    replace: '',
    permits: `${POOL} lose-reply,late-copy`,
  },
  'permits of a caller that left stay taken': {
    file: 'core/src/scripts/counter/cancel.lua',
    find: '* tonumber(ARGV[4])',
    replace: '* 0',
    permits: `${POOL} delay`,
  },
  'a release of permits tells nobody': {
    file: 'core/src/scripts/semaphore/release.lua',
    find: "publish(ARGV[7], ARGV[6], redis.call('incrby', KEYS[1], ARGV[4]))",
    replace: "redis.call('incrby', KEYS[1], ARGV[4])",
    permits: `${POOL} none --resync 10000 --permits 2`,
  },
  'a permit is trusted for two leases': {
    file: 'core/src/synchronizers/permit.ts',
    find: 'this.trust(sentAt, this.ttlMs, renew)',
    replace: 'this.trust(sentAt, 2 * this.ttlMs, renew)',
    permits:
      '--kinds permits --processes 3 --flows 16 --permits 2 --faults event-loop-blocked,process-stands-still',
  },
  'an earlier end of a permit counts when it is answered': {
    file: 'core/src/synchronizers/permit.ts',
    find: 'if (trustedForMs > 0)',
    replace: 'if (trustedForMs < 0)',
    test: 'packages/core/test/redis/permit-handle.test.ts',
    only: 'earlier end without an answer',
  },
  'a count-down that is sent twice counts twice': {
    file: 'core/src/scripts/latch/count-down.lua',
    find: ONCE,
    replace: '',
    permits: `${LATCH} lose-reply,late-copy`,
  },
  'a latch that opens tells nobody': {
    file: 'core/src/scripts/latch/count-down.lua',
    find: "publish(ARGV[5], ARGV[4], '0')",
    replace: '',
    permits: `${LATCH} none --resync 10000`,
  },
  'a permit whose caller left before its answer was read stays taken': {
    file: 'core/src/synchronizers/operations.ts',
    find: '&& !this.answered',
    replace: '',
    test: 'packages/core/test/redis/cancelled-permits.test.ts',
  },
  'more permits make a semaphore outlive what is kept of them': {
    file: 'core/src/scripts/semaphore/add.lua',
    find: "redis.call('set', KEYS[1], free, 'keepttl')",
    replace: "redis.call('set', KEYS[1], free)",
    test: 'packages/core/test/redis/permit-semaphore.test.ts',
  },
  'a caller that wants fewer permits does not say how few it wants': {
    file: 'core/src/synchronizers/permit-wait.ts',
    find: 'wants: permits,',
    replace: '',
    test: 'packages/core/test/redis/semaphore-waiting.test.ts',
    only: 'passes it with 1',
  },
  'a time-out knows only what its own call was told': {
    file: 'core/src/synchronizers/permit-wait.ts',
    find: 'this.see() this.session.waitReporter.parked(this, ticket)',
    replace: 'this.session.waitReporter.parked(this, ticket)',
    test: 'packages/core/test/redis/explained-waiting.test.ts',
    only: 'never came to try',
  },
}
