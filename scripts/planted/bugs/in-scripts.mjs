// Mistakes in the Lua scripts: each transition of Redis that other libraries got wrong.
import { BROKEN, COPIED, CROWD, FULL, KILLED, ONLY_WAKES, SLOW, STOPPED } from '../tortures.mjs'

const ACQUIRE = 'core/src/scripts/lock/acquire.lua'
const RELEASE = 'core/src/scripts/lock/release.lua'
const RENEW = 'core/src/scripts/lock/renew.lua'

export const BUGS_IN_SCRIPTS = {
  'acquire takes what somebody else has': {
    file: ACQUIRE,
    find: 'local free = not mine and #holder == 0',
    replace: 'local free = not mine',
    torture: CROWD,
  },
  'acquire sets no time to live': {
    file: ACQUIRE,
    find: "redis.call('pexpire', KEYS[1], ARGV[3])",
    replace: '',
    torture: KILLED,
  },
  'acquire adds to the count, so that a re-send counts twice': {
    file: ACQUIRE,
    find: '(mine or (free and holds == 1)) then',
    replace: '(mine or (free and holds == 1)) then holds = (tonumber(mine) or 0) + 1',
    torture: BROKEN,
  },
  'no tombstone against late copies': {
    file: ACQUIRE,
    find: 'local superseded = isLate(KEYS[2], ARGV[4])',
    replace: 'local superseded = false',
    torture: COPIED,
  },
  'a key of another type under the name keeps the tombstone away': {
    file: RELEASE,
    find: "if not isCopy and through ~= '0' then",
    replace: "if not isCopy and through ~= '0' and type(redis.pcall('hlen', KEYS[1])) ~= 'table' then",
    test: 'packages/core/test/redis/tombstones.test.ts',
    only: 'lock, a string, down to 0: a late copy of the acquire takes nothing',
  },
  'whatever is answered is believed': {
    file: 'core/src/redis/script-command.ts',
    find: 'if (!this.call.script.canAnswer(reply)) {',
    replace: 'if (reply === undefined) {',
    test: 'packages/core/test/redis/transactions.test.ts',
    only: 'is not believed: no two clients ever trust one lock',
  },
  'the last level stays when a re-entry was undone in a transaction': {
    file: 'core/src/entry/exec-wait.ts',
    find: 'if (isLast && (isRelease || holds > 0)) {',
    replace: 'if (isLast) {',
    test: 'packages/core/test/redis/transactions.test.ts',
    only: 'of a hold whose re-entry waited in it',
  },
  'what waits in a transaction is sent again and again': {
    file: 'core/src/redis/failures.ts',
    find: 'transient: !cause.isQueued,',
    replace: 'transient: true,',
    test: 'packages/core/test/redis/transactions.test.ts',
    only: 'is not told as released; at the EXEC the lock is free, and nothing was sent over and over',
  },
  'an error in a script of Redis 6.2 is read from its beginning': {
    file: 'core/src/errors.ts',
    find: ".replace(WHERE_IN_SCRIPT, '')",
    replace: '',
    test: 'packages/core/test/unit/server-errors.test.ts',
    only: 'READONLY passes',
  },
  'a message that Redis refuses fails what was done': {
    file: 'core/src/scripts/publish.part.lua',
    find: 'redis.pcall(command, channel, message)',
    replace: 'redis.call(command, channel, message)',
    test: 'packages/core/test/redis/no-channels.test.ts',
    only: 'changes semaphores and latches once',
  },
  'a hash whose fields have ended is a lock': {
    file: ACQUIRE,
    find: 'local free = not mine and #holder == 0',
    replace: "local free = not mine and redis.call('exists', KEYS[1]) == 0",
    test: 'packages/testing/test/unit/ended-fields.test.ts',
    only: 'is a free plain lock',
  },
  'an error that nobody has heard of counts as nothing done': {
    file: 'core/src/redis/failures.ts',
    find: "NEVER_RUNS.test(said) ? 'for good' : 'unknown'",
    replace: "NEVER_RUNS.test(said) ? 'for good' : 'for good'",
    test: 'packages/core/test/redis/unknown-errors.test.ts',
    only: 'ends a single attempt for a lock as unknown',
  },
  're-entry shortens the lease': {
    file: ACQUIRE,
    find: "math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[3]))",
    replace: 'ARGV[3]',
    torture: SLOW,
  },
  'release frees whoever has the lock': {
    file: RELEASE,
    find: "local removed = isPlain and redis.call('hdel', KEYS[1], ARGV[1])",
    replace: "local removed = isPlain and redis.call('del', KEYS[1])",
    torture: STOPPED,
  },
  'release tells nobody': {
    file: RELEASE,
    find: "if ARGV[7] == '' then return 1 end",
    replace: 'if true then return 1 end',
    torture: ONLY_WAKES,
  },
  'release of one level deletes the lock': {
    file: RELEASE,
    find: "redis.call('hset', KEYS[1], ARGV[1], holds) return 2",
    replace: "redis.call('del', KEYS[1]) return 2",
    torture: CROWD,
  },
  'release of one level takes one off, so that a re-send takes two': {
    file: RELEASE,
    find: "redis.call('hset', KEYS[1], ARGV[1], holds) return 2",
    replace: "redis.call('hincrby', KEYS[1], ARGV[1], -1) return 2",
    torture: BROKEN,
  },
  'release is refused while Redis is out of memory': {
    file: RELEASE,
    find: 'local removed =',
    replace: "redis.call('setrange', 'holdfast:none', 0, '') local removed =",
    torture: FULL,
  },
  'renewal creates what is gone': {
    file: RENEW,
    find: "if try('hexists', key, ARGV[i + 1]) == 1 then",
    replace: "if redis.call('hsetnx', key, ARGV[i + 1], 1) >= 0 then",
    test: 'packages/core/test/redis/wire.test.ts',
    only: 'renew: each lock has its own answer',
  },
  'renewal shortens the lease': {
    file: RENEW,
    find: "math.max(redis.call('pttl', key), lease)",
    replace: 'lease',
    torture: SLOW,
  },
  'renewal prolongs whoever has the lock': {
    file: RENEW,
    find: "try('hexists', key, ARGV[i + 1]) == 1",
    replace: "redis.call('exists', key) == 1",
    test: 'packages/core/test/redis/hold.test.ts',
    only: 'taken away: lock a key that was deleted and taken',
  },
  'force-release of one holder takes the lock from any': {
    file: 'core/src/scripts/lock/force-release.lua',
    find: 'if not areShown(owners, named) then',
    replace: 'if not areShown(owners, owners) then',
    test: 'packages/core/test/redis/forced-holder.test.ts',
    only: 'lock leaves the lock to a holder that came in since',
  },
  'a forced release that is sent again takes the lock from the next holder': {
    file: 'core/src/protocols/hash-protocol.ts',
    find: "owners.length > 0 ? owners : ['']",
    replace: 'holder === undefined ? [] : owners',
    test: 'packages/core/test/redis/replay.test.ts',
    only: 'lock loseReply of a forced release, its holder not named',
  },
  'force-release of one reader takes the lock from all': {
    file: 'core/src/scripts/read-lock/force-release.lua',
    find: 'isInMode and isShown(owner, named)',
    replace: 'isInMode',
    test: 'packages/core/test/redis/forced-holder.test.ts',
    only: 'of one reader ends its hold alone',
  },
  'force-release tells its holder nothing': {
    file: 'core/src/scripts/lock/force-release.lua',
    find: "string.match(owner, '^(.-):')",
    replace: "string.match(owner, '^(.-)~')",
    test: 'packages/core/test/redis/hold.test.ts',
    only: 'taken away: lock forceUnlock by another client',
  },
}
