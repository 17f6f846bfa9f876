// Mistakes in holds that travel from process to process.
const TRAVEL = 'packages/core/test/redis/travel.test.ts'
const REPLAY = 'packages/core/test/redis/travel-replay.test.ts'

export const BUGS_IN_TRAVELLING = {
  'a hand-over leaves no tombstone of its owner': {
    file: 'core/src/scripts/travel/hand-over.lua',
    find: 'refuseCopies(KEYS[2], 0, ARGV[4], ARGV[4], ARGV[5])',
    replace: "refuseCopies(KEYS[2], 0, ARGV[4], '0', ARGV[5])",
    test: REPLAY,
    only: 'a late copy of the acquire of the old owner',
  },
  'a copy of a hand-over keeps the lock for longer': {
    file: 'core/src/scripts/travel/hand-over.lua',
    find: "return redis.call('hexists', KEYS[1], ARGV[2])",
    replace: "return redis.call('pexpire', KEYS[1], ARGV[3])",
    test: REPLAY,
    only: 'does not keep the lock for longer',
  },
  'an adoption creates the lock': {
    file: 'core/src/scripts/travel/adopt.lua',
    find: "if not mine and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then",
    replace:
      "if not mine and redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then",
    test: REPLAY,
    only: 'never creates',
  },
  'an adoption takes the lock from whoever has it': {
    file: 'core/src/scripts/travel/adopt.lua',
    find: "if not mine and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then",
    replace: "if not mine and redis.call('exists', KEYS[1]) == 0 then",
    test: TRAVEL,
    only: 'plain is adopted once',
  },
  'an adopted fenced lock keeps the token that it had': {
    file: 'core/src/scripts/travel/adopt.lua',
    find: "local token = hasOne and redis.call('get', counter)",
    replace: "local token = redis.call('get', counter)",
    test: TRAVEL,
    only: 'gets a larger token',
  },
  'a hold is trusted while its hand-over is under way': {
    file: 'core/src/travel/hand-over.ts',
    find: 'endForSuccessor(acquisition, hold)\n  let outcome',
    replace: 'let outcome',
    test: REPLAY,
    only: 'plain aborts the signal before',
  },
  'nobody gives back what an adoption without an answer took': {
    file: 'core/src/travel/adopt.ts',
    find: 'void acquisition.giveBack()',
    replace: '',
    test: REPLAY,
    only: 'plain leaves no owner behind',
  },
  'an adoption gives its hold to a client that was closed meanwhile': {
    file: 'core/src/acquire/acquisition.ts',
    find: 'this.session.assertOpen(this.lockName)',
    replace: 'void this.session',
    test: 'packages/core/test/redis/close-calls.test.ts',
    only: 'at command 1 of a call leaves nobody with anything that lasts: adopt()',
  },
  'nobody gives back a lock whose hand-over had no answer': {
    file: 'core/src/travel/hand-over.ts',
    find: 'session.background.run(takeBack(acquisition, traveller))',
    replace: '',
    test: REPLAY,
    only: 'plain gives the lock back',
  },
  'who is refused is told the right to a lock that travels': {
    file: 'core/src/lock-holder.ts',
    find: 'foreign(handedOver ? withoutSecret(facts.owner) : facts.owner)',
    replace: 'foreign(facts.owner)',
    test: TRAVEL,
    only: 'plain is named by those who are refused',
  },
}
