// Mistakes in passing a fair lock on along its line.
const PASSING = 'packages/core/test/redis/fair-lock-passing.test.ts'
const RELEASE = 'core/src/scripts/fair-lock/release.lua'
const RENAME = 'core/src/scripts/fair-lock/rename.lua'
const PROTOCOL = 'core/src/locks/fair-protocol.ts'
const RETURNS = 'core/src/fair-returns.ts'

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
    find: 'isTaken = grants.offer(behind[0], passed)',
    replace: 'isTaken = grants.offer(behind[0], passed) || undefined',
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
    file: 'core/src/acquisition.ts',
    find: '|| this.commands.field.passedTo.length > 0',
    replace: '',
    test: PASSING,
    only: 'given to one who has it',
  },
  'who comes back to a fair lock goes back alone': {
    file: RETURNS,
    find: 'if (!here || !(here.isReleasing',
    replace: 'if (!here || here.sends || !(here.isReleasing',
    test: PASSING,
    only: 'come together behind each other',
  },
  'who comes back to a fair lock waits for its own client': {
    file: RETURNS,
    find: 'here.timer ??= clock.setTimer(RETURN_MS, () => this.sendAll(here))',
    replace: '',
    test: PASSING,
    only: 'stand in line soon',
  },
}
