// Mistakes in passing a lock on inside the process.
const POSSESSION = 'core/src/entry/local-pass.ts'
const PASSING = 'packages/core/test/redis/local-passing.test.ts'
// Until each of twelve locks has been passed on some times.
const REPLAY = 'scripts/faults.mjs replay --operations 3000 --seed 1 --client ioredis6 --auto-pipelining off'
const ABANDONED = 'scripts/faults.mjs abandoned --waits 10000'
const FAULTS = 'packages/core/test/redis/local-passing-faults.test.ts'

export const BUGS_IN_PASSING = {
  'a lock is passed on after trust in it ended': {
    file: POSSESSION,
    find: '!isWellTrusted(trustedForMs, ttlMs)',
    replace: 'trustedForMs < 0',
    test: PASSING,
    only: 'when the machine was suspended',
  },
  'a lock is passed on for ever': {
    file: POSSESSION,
    find: 'this.passes < MOST_PASSES &&',
    replace: 'this.passes >= 0 &&',
    test: PASSING,
    only: 'come after 100 passes',
  },
  'who passed it on long enough takes it again': {
    file: POSSESSION,
    find: 'waiter.standBack(queue, STAND_BACK_MS)',
    replace: '',
    test: PASSING,
    only: 'come after 100 passes',
  },
  'a lock without a token is passed to whoever wants one': {
    file: 'core/src/acquire/contention.ts',
    find: 'protocol.passing !== null &&',
    replace: '',
    test: PASSING,
    only: 'when the next one wants a token',
  },
  'a rename that creates': {
    file: 'core/src/scripts/lock/rename.lua',
    find: "return redis.call('hexists', KEYS[1], ARGV[1])",
    replace: "redis.call('hset', KEYS[1], ARGV[1], 1) return 1",
    test: FAULTS,
    only: 'never creates',
  },
  'a rename without an answer counts as none': {
    file: 'core/src/entry/named-entry.ts',
    find: 'const to = (this.doubtful = { owner, note })',
    replace: 'const to = { owner, note }',
    test: FAULTS,
    only: 'leaves the hold as good as it was',
  },
  'a name that is in doubt is not asked for again': {
    file: POSSESSION,
    find: 'await untilKnown(() => this.entry.besideHolds(() => this.nameHolder()), limits)',
    replace: 'await this.entry.besideHolds(() => this.nameHolder())',
    test: FAULTS,
    only: 'is sent again until the name is known',
  },
  'a renewal under an old name is believed': {
    file: 'core/src/client/lease-store.ts',
    find: "answer === 'lost' && isSuperseded ?",
    replace: "answer === 'lost' && owner === '' ?",
    test: FAULTS,
    only: 'is no loss when a renewal asks meanwhile',
  },
  'the name never follows a lock that is passed on': {
    file: POSSESSION,
    find: 'if (!this.isFollowing && !this.isUnconfirmed) {',
    replace: 'if (this.isFollowing) {',
    script: REPLAY,
  },
  'a release that is told and not done': {
    file: 'core/src/scripts/lock/release.lua',
    find: "local removed = isPlain and redis.call('hdel', KEYS[1], ARGV[1])",
    replace: 'local removed = isPlain and 1',
    script: REPLAY,
  },
  'what was passed on is released under the name of its holder': {
    file: 'core/src/entry/named-entry.ts',
    find: 'this.currentHolder = next',
    replace: 'this.currentHolder = next; this.currentName = next.owner',
    script: REPLAY,
  },
  'a rename leaves the old name beside the new one': {
    file: 'core/src/scripts/lock/rename.lua',
    find: "redis.call('hdel', lock, from)",
    replace: '',
    script: ABANDONED,
  },
  'a plain lock that is given to a caller that has left stays with it': {
    file: 'core/src/entry/lock-entry.ts',
    find: 'return !this.isTaken && this.inRedis === 0 && !this.ownerIsQueued',
    replace: 'return !this.isTaken && this.inRedis === 0',
    script: ABANDONED,
  },
}
