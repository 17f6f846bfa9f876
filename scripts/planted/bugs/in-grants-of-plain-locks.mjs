// Mistakes in giving a plain lock to the next client that waits.
const GRANTS = 'packages/core/test/redis/lock-grants.test.ts'
const ROUNDS = 'packages/core/test/redis/rounds.test.ts'
const UNTAKEN = 'packages/core/test/redis/grants-nobody-took.test.ts'
const RELEASE = 'core/src/scripts/lock/release.lua'

export const BUGS_IN_GRANTS_OF_PLAIN_LOCKS = {
  'a release that is announced to nobody wakes nobody here': {
    file: 'core/src/protocols/reentrant.ts',
    find: 'if (this.isOurs && waiter.isWaiting(this.key)) {',
    replace: 'if (this.isOurs && !waiter.isWaiting(this.key)) {',
    test: 'packages/core/test/redis/interop-none.test.ts',
    only: 'wakes a waiter of its own',
  },
  'a lock is given although somebody listens who would never be told': {
    file: RELEASE,
    find: 'return extra == 0 end',
    replace: 'return true end',
    test: GRANTS,
    only: 'where somebody listens who does not stand in line',
  },
  'a lock is given although somebody in line has died': {
    file: RELEASE,
    find: 'return extra >= 0 and extra or nil',
    replace: 'return extra < 0 and 0 or extra',
    test: GRANTS,
    only: 'where somebody who stands in line has died',
  },
  'a Java client is counted in place of a waiter that has died': {
    file: RELEASE,
    find: 'not heard.err and heard[4] ~= 0 and heard[2] - standing - exempt or -1',
    replace: 'not heard.err and heard[2] - standing - exempt or -1',
    test: UNTAKEN,
    only: 'is announced at once, when the waiter in front of it was killed',
  },
  'nobody looks after a lock that was given to a waiter which is stopped': {
    file: 'core/src/queue/granted-locks.ts',
    find: 'this.byKey.set(watched.lock.key, watched)',
    replace: '',
    test: UNTAKEN,
    only: 'is stopped',
  },
  'a look without an answer was one': {
    file: 'core/src/queue/granted-locks.ts',
    find: 'if (clock.now() < giveUpAt && !this.byKey.has(lock.key)) {',
    replace: 'if (clock.now() > giveUpAt && !this.byKey.has(lock.key)) {',
    test: UNTAKEN,
    only: 'is looked at again after an outage',
  },
  'a lock is given for ever': {
    file: RELEASE,
    find: 'return extra == 0 and leftFree > now - LONGEST_GIVING_MS or',
    replace: 'return extra == 0 or',
    test: GRANTS,
    only: 'when it has gone from one to the next for a while',
  },
  'whoever stood there when the lock was left free has to race for it': {
    file: RELEASE,
    find: "string.format('(%.0f', leftFree * 1000)) > 0",
    replace: "string.format('(%.0f', leftFree * 1000)) > 99",
    test: ROUNDS,
    only: 'once before it is left free again',
  },
  'the end of a round is forgotten with the line': {
    file: RELEASE,
    find: "redis.call('pexpire', line, MARK_TTL_MS)",
    replace: "redis.call('del', line)",
    test: ROUNDS,
    only: 'outlives an empty line',
  },
  'a plain lock is given to the dead': {
    file: RELEASE,
    find: "if not owner or untilMs > now and untilMs <= now + LONGEST_LIFE_MS and string.find(owner, '^[^:]+:%d+$') then return owner, untilMs end",
    replace: 'do return owner, untilMs end',
    test: GRANTS,
    only: 'because it is known to be dead',
  },
  'whoever gave a lock away does not stand in line': {
    file: 'core/src/entry/lock-entry.ts',
    find: 'this.protocol.wentToAnother?.(reply.givenForMs)',
    replace: '',
    test: GRANTS,
    only: 'its own callers stand in line again',
  },
  'a grant that is passed on is trusted as a whole lease': {
    file: 'core/src/acquire/acquisition.ts',
    find: 'this.watchFrom({ sentAt, ttlMs, renew }, passedAt)',
    replace: 'this.watchFrom({ sentAt, ttlMs: this.ttlMs, renew }, passedAt)',
    test: GRANTS,
    only: 'is passed on as it is',
  },
  'a lease that was refused is the loss of whoever has passed the lock on': {
    file: 'core/src/entry/lock-entry.ts',
    find: "if ((await this.protocol.extend(owner, leaseMs)) === 'lost') { this.holder.lose('gone')",
    replace:
      "const asked = this.holder; if ((await this.protocol.extend(owner, leaseMs)) === 'lost') { asked.lose('gone')",
    test: GRANTS,
    only: 'whoever has it then is told that it is gone',
  },
  'a release that runs again gives a plain lock again': {
    file: RELEASE,
    find: 'local givenForMs = mine and grantToFirst(',
    replace: 'local givenForMs = grantToFirst(',
    test: GRANTS,
    only: 'gives the lock once',
  },
  'a try is sent beside its place in line': {
    file: 'core/src/queue/plain-queue.ts',
    find: 'return mayEnter || this.ownerAt(key) === owner',
    replace: 'return mayEnter',
    test: GRANTS,
    only: 'because another caller of its client came first',
  },
  'a head counts as dead while it waits for a long lease': {
    file: 'core/src/acquire/contention.ts',
    find: 'Math.min(leaseMs, pauseMs, this.lifeAfter(reply))',
    replace: 'Math.min(leaseMs, pauseMs)',
    test: 'packages/core/test/redis/interop-none.test.ts',
    only: 'longer than a short life',
  },
  'a late copy of the acquire takes again what was lost': {
    file: 'core/src/acquire/acquisition.ts',
    find: '|| this.entry.hasLateCopies',
    replace: '',
    test: 'packages/core/test/redis/fair-lock-forced.test.ts',
  },
  'a caller that leaves stays in line': {
    file: RELEASE,
    find: 'leave(KEYS[2], ARGV[1])',
    replace: '',
    test: GRANTS,
    only: 'leaves no place in line',
  },
}
