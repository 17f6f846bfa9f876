// Mistakes in passing a fair lock on along its line.
const PASSING = 'packages/core/test/redis/fair-lock-passing.test.ts'
const RELEASE = 'core/src/scripts/fair-lock/release.lua'
const RENAME = 'core/src/scripts/fair-lock/rename.lua'
const PROTOCOL = 'core/src/protocols/fair.ts'
const RETURNS = 'core/src/queue/rejoin-batch.ts'

export const BUGS_IN_PASSING_ALONG_A_LINE = {
  'a fair lock is passed on past a waiter of another client': {
    file: RELEASE,
    find: 'if string.sub(owner, 1, #prefix) ~= prefix then break end',
    replace: '',
    test: PASSING,
    only: 'does not pass a waiter of another client',
  },
  'a fair lock is passed on past one that asks Redis': {
    file: PROTOCOL,
    find: 'isTaken = grantReceiver.offer(behind[0], passed)',
    replace: 'isTaken = grantReceiver.offer(behind[0], passed) || undefined',
    test: PASSING,
    only: 'beyond one that asks Redis',
  },
  'a release leaves those in line whom the lock was passed on to': {
    file: RELEASE,
    find: 'leavePassed(q, KEYS[1], passed, not mine)',
    replace: '',
    test: PASSING,
    only: 'goes along the line without a command',
  },
  'a rename leaves those in line whom the lock was passed on to': {
    file: RENAME,
    find: 'leavePassed(q, KEYS[1], passed, not isNamed)',
    replace: '',
    test: PASSING,
    only: 'is named after who keeps it',
  },
  'a lock that was lost stays with one that has had it': {
    file: RENAME,
    find: "if isLost then redis.pcall('hdel', lock, unpack(owners)) end",
    replace: '',
    test: PASSING,
    only: 'given to one who has had it',
  },
  'a loss leaves those in line whom the lock was passed on to': {
    file: 'core/src/acquire/acquisition.ts',
    find: "reason === 'expired' || this.entry.hasLateCopies || wasPassedOn",
    replace: "reason === 'expired'",
    test: PASSING,
    only: 'found by a re-entry',
  },
  'a release leaves the lock with one that has had it, where nobody waits any more': {
    file: RELEASE,
    find: 'if q.listed == 0 and q.ours == 0 and #ARGV <= 9 then return 0 end',
    replace: 'if q.listed == 0 and q.ours == 0 then return 0 end',
    test: PASSING,
    only: 'before the grant was confirmed',
  },
  'a loss found by a re-entry leaves those in line whom the lock was passed on to': {
    file: 'core/src/entry/lock-entry.ts',
    find: '&& (holds > 0 || this.passedTo.length === 0)',
    replace: '',
    test: PASSING,
    only: 'found by a re-entry',
  },
  'a lock that Redis gave to who has it lasts for a life only': {
    file: RENAME,
    find: 'return moved and 1 or isNamed and 2 or 0',
    replace: 'return isNamed and 1 or 0',
    test: PASSING,
    only: 'for as long as it is trusted',
  },
  'a lease that was asked for and not answered is asked for no more': {
    file: 'core/src/entry/local-pass.ts',
    find: 'if (this.leaseIsOnlyAGrant) {',
    replace: 'if (this.leaseIsOnlyAGrant && !(this.leaseIsOnlyAGrant = false)) {',
    test: PASSING,
    only: 'though the question for its lease is lost',
  },
  'who comes behind callers that come back to a fair lock overtakes them': {
    file: RETURNS,
    find: '|| here.sends.length > 0',
    replace: '',
    test: 'packages/core/test/unit/fair-returns.test.ts',
  },
  'who comes back to a fair lock goes back alone': {
    file: RETURNS,
    find: 'if (!here || !(comesBack',
    replace: 'if (!here || here.sends || !(comesBack',
    test: PASSING,
    only: 'come together behind each other',
  },
  'who comes back to a fair lock waits for its own client': {
    file: RETURNS,
    find: 'here.timer ??= runtime.setTimer(RETURN_MS, () => this.sendAll(here))',
    replace: '',
    test: PASSING,
    only: 'stand in line soon',
  },
}
