// Mistakes in giving a fair lock to its next waiter.
const GRANTS = 'packages/core/test/redis/fair-lock-grants.test.ts'
const UNTAKEN = 'packages/core/test/redis/grants-nobody-took.test.ts'
const LOST = 'packages/core/test/redis/lost-lines.test.ts'
const RELEASE = 'core/src/scripts/fair-lock/release.lua'

export const BUGS_IN_GRANTS = {
  'whoever is back later than others after an outage is passed over': {
    file: 'core/src/scripts/fair-lock/grant-to-first.part.lua',
    find: 'and isAwaited(q, waiter) then break',
    replace: 'and false then break',
    test: 'packages/core/test/redis/fair-lock-outage.test.ts',
    only: 'is back later',
  },
  'a grant is believed without proof': {
    file: 'core/src/queue/grants.ts',
    find: 'const life = isProven(told, candidate) ?',
    replace: 'const life = told.proof !== null ?',
    test: 'packages/core/test/redis/forged-grants.test.ts',
    only: 'a grant with no proof',
  },
  'something of another type in the line of a fair lock makes its release a loss': {
    file: 'core/src/scripts/fair-lock/release.lua',
    find: "if failure and not string.find(failure, 'WRONGTYPE', 1, true) then",
    replace: 'if failure then',
    test: 'packages/core/test/redis/foreign-lines.test.ts',
    only: 'put there while the fair lock is held',
  },
  'a grant is trusted from its message': {
    file: 'core/src/queue/liveness.ts',
    find: 'const sentAt = this.known.findLast((life) => life.until <= until)?.sentAt',
    replace: 'const sentAt = now',
    test: GRANTS,
    only: 'is counted from the sign of life',
  },
  'a grant is trusted although the machine slept': {
    file: 'core/src/acquire/acquisition.ts',
    find: 'if (watch.trustedForMs === 0) {',
    replace: 'if (watch.trustedForMs < 0) {',
    test: GRANTS,
    only: 'the machine was suspended since then',
  },
  'a client that seldom asks again counts as dead': {
    file: 'core/src/options.ts',
    find: 'return Math.min(resyncInterval, LONGEST_HEARTBEAT_MS)',
    replace: 'return resyncInterval',
    test: 'packages/core/test/redis/fair-lock-messages.test.ts',
    only: 'asks again once in two days',
  },
  'a waiter is called up by its own try, and stands in line again behind that': {
    file: 'core/src/scripts/fair-lock/acquire.lua',
    find: 'if isFree and first and first.owner ~= ARGV[1] then first = firstWhoHears(q, first, ARGV[11]) end',
    replace: '',
    test: 'packages/core/test/redis/fair-lock-scripts.test.ts',
    only: 'behind waiters whose clients hear nothing',
  },
  'a Java thread is taken for dead with another thread of its client': {
    file: RELEASE,
    find: 'local who = waiter.marks and clientOf(owner) or owner',
    replace: 'local who = clientOf(owner)',
    test: 'packages/core/test/redis/fair-lock-scripts.test.ts',
    only: 'a Java thread keeps its place',
  },
  'a lock is given to a waiter whose client hears nothing any more': {
    file: RELEASE,
    find: 'first = firstWhoHears(q, first, inboxes)',
    replace: '',
    test: UNTAKEN,
    only: 'calls it up at once, when the waiter in front of it was killed',
  },
  'whoever hears nothing is passed over though nobody hears': {
    file: RELEASE,
    find: 'if not deaf[who] then for _, before',
    replace: 'if not deaf[who] or place > 1 then for _, before',
    test: UNTAKEN,
    only: 'keeps its order where nobody hears',
  },
  'a list that is gone stays gone': {
    file: 'core/src/scripts/fair-lock/heartbeat.lua',
    find: "if redis.call('zcard', q.scores) ~= q.listed then return true end",
    replace: '',
    test: LOST,
    only: 'held, without queue:',
  },
  'whoever is back first passes the others': {
    file: 'core/src/scripts/fair-lock/acquire.lua',
    find: 'if q.ours == 0 then awaitOurs(q) end',
    replace: '',
    test: LOST,
    only: 'free, without queue, timeouts, arrivals',
  },
  'the dead are all whose heartbeats are lost': {
    file: 'core/src/scripts/fair-lock/acquire.lua',
    find: 'if not q.heard and q.ours > 0 then',
    replace: 'if false then',
    test: LOST,
    only: 'free, without heartbeats',
  },
  'a grant that never ends': {
    file: RELEASE,
    find: "redis.call('pexpireat', lock, untilText)",
    replace: '',
    test: GRANTS,
    only: 'because its process is dead',
  },
  'a grant to a caller that has left is kept': {
    file: 'core/src/entry/lock-entry.ts',
    find: 'return !this.isTaken && this.inRedis === 0 && !this.ownerIsQueued',
    replace: 'return !this.isTaken && this.inRedis === 0',
    test: GRANTS,
    only: 'because its caller left meanwhile',
  },
  'a release that runs again gives the lock again': {
    file: RELEASE,
    find: 'local first = (mine or isFree(KEYS[1])) and head(q)',
    replace: 'local first = head(q)',
    test: GRANTS,
    only: 'gives the lock once',
  },
  'a newcomer leaves a free lock to nobody': {
    file: 'core/src/scripts/fair-lock/acquire.lua',
    find: 'if first and isFree then grantToFirst(',
    replace: 'if false then grantToFirst(',
    test: GRANTS,
    only: 'is given to the first in line by the next who comes',
  },
}
