// Mistakes beside the string locks of other libraries.
const FOREIGN = 'packages/core/test/redis/foreign-locks.test.ts'

export const BUGS_IN_FOREIGN_LOCKS = {
  'a re-entry that finds a string is refused, and its levels go on': {
    file: 'core/src/entry/entry-command.ts',
    find: 'return error instanceof WrongTypeError && this.holds > 1',
    replace: 'return error instanceof WrongTypeError && this.holds > 99',
    test: FOREIGN,
    only: 'plain: every level is lost at once',
  },
  'a waiter behind a string looks without a pause': {
    file: 'core/src/queue/foreign-looks.ts',
    find: 'return Math.min(Math.max(seenForMs, FIRST_PAUSE_MS), LONGEST_PAUSE_MS)',
    replace: 'return Math.min(0 * seenForMs * FIRST_PAUSE_MS, LONGEST_PAUSE_MS)',
    test: FOREIGN,
    only: 'with pauses that grow to 50 ms',
  },
  'a forced release deletes a string': {
    file: 'core/src/scripts/lock/force-release.lua',
    find: "local owners = redis.call('hkeys', KEYS[1])",
    replace: "local owners = redis.pcall('hkeys', KEYS[1]); if owners.err then owners = { 'x:1' } end",
    test: FOREIGN,
    only: 'plain: isLocked, remainTimeToLive and forceUnlock',
  },
  'an acquire writes over a string': {
    file: 'core/src/scripts/lock/acquire.lua',
    find: "local mine = redis.call('hget', KEYS[1], ARGV[1])",
    replace:
      "if redis.call('type', KEYS[1]).ok == 'string' then redis.call('del', KEYS[1]) end local mine = redis.call('hget', KEYS[1], ARGV[1])",
    test: FOREIGN,
    only: 'plain.*a try and a limited wait are refused',
  },
  'a wait behind a string without a time to live never ends': {
    file: 'core/src/acquire/foreign-wait.ts',
    find: 'if (isEndless && ',
    replace: 'if (!isEndless && ',
    test: FOREIGN,
    only: 'plain.*ends an endless wait',
  },
  'nobody of a fair lock looks whether the string is gone': {
    file: 'core/src/queue/fair-queue.ts',
    find: 'here.look = runtime.setTimer(pauseMs, () => void this.ask(here, false))',
    replace: 'void pauseMs; void runtime',
    test: FOREIGN,
    only: '^fair.*waits until the string is deleted',
  },
  'who leaves behind a string keeps its place in the line of a plain lock': {
    file: 'core/src/entry/lock-entry.ts',
    find: 'this.protocol.leaveLine?.(command.owner)',
    replace: '',
    test: FOREIGN,
    only: 'leaves no place there',
  },
  'a lock counts as free while a string has its name': {
    file: 'core/src/protocols/foreign-holder.ts',
    find: 'return holder ? { ttlMs: holder.leaseLeftMs, holds: new Map(), isForeign: true } : FREE',
    replace: 'return FREE',
    test: FOREIGN,
    only: 'plain: isLocked',
  },
  'a client that waits for strings is advised to wait for strings': {
    file: 'core/src/protocols/foreign-holder.ts',
    find: "return of.foreignLocks === 'error' && error instanceof WrongTypeError && error.key === of.key",
    replace: 'return error instanceof WrongTypeError',
    test: FOREIGN,
    only: 'plain: to wait for strings|a key beside the lock',
  },
}
