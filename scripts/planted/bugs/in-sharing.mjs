// Mistakes in runs that are shared.
const SHARE = 'packages/core/test/redis/share.test.ts'
const KEEPING = 'packages/core/test/redis/share-keeping.test.ts'
const WIRE = 'packages/core/test/redis/share-wire.test.ts'

export const BUGS_IN_SHARING = {
  'a result is taken from a run that lost its lock': {
    file: 'core/src/scripts/share/finish.lua',
    find: 'if not mine then',
    replace: "if not mine and redis.call('exists', KEYS[5]) == 1 then",
    test: WIRE,
    only: 'the result of an owner that lost the lock is refused',
  },
  'who waits for a run does not find its result': {
    file: 'core/src/scripts/share/enter.lua',
    find: "local left = redis.call('get', KEYS[5])",
    replace: 'local left = false',
    test: SHARE,
    only: 'gives one result to all callers',
  },
  'a late copy of an enter begins a run': {
    file: 'core/src/scripts/share/enter.lua',
    find: 'if isLate(KEYS[2], ARGV[3]) then',
    replace: 'if mine and isLate(KEYS[2], ARGV[3]) then',
    test: WIRE,
    only: 'meets the tombstone',
  },
  'the end of a run without a result is told to nobody': {
    file: 'core/src/scripts/share/enter.lua',
    find: "if not neverRan and holder ~= ARGV[9] and ARGV[10] == '1' then",
    replace: "if not neverRan and not holder and ARGV[10] == '2' then",
    test: SHARE,
    only: 'leaves its outcome unknown',
  },
  'what was invalidated during its run is kept': {
    file: 'core/src/scripts/share/finish.lua',
    find: "if ARGV[8] ~= '0' and not isOutdated then",
    replace: "if ARGV[8] ~= '0' then",
    test: WIRE,
    only: 'keeps the result of a run under way from being kept',
  },
  'callers that come after an invalidate take what it invalidated': {
    file: 'core/src/share/flight.ts',
    find: 'if (!isOutdated) { this.awaited',
    replace: 'if (owner) { this.awaited',
    test: KEEPING,
    only: 'is not the result of a run that was invalidated',
  },
  'callers that join a flight take what was invalidated before they came': {
    file: 'core/src/share/flight.ts',
    find: 'finish(isOutdated === false ? asOf : (awaited?.asOf ?? 0))',
    replace: 'land(asOf)',
    test: KEEPING,
    only: 'gives none of the run under way in its own process',
  },
  'a result that was invalidated after its run had ended is fetched as a valid one': {
    file: 'core/src/scripts/share/enter.lua',
    find: "before == '!' or generation and before ~= generation",
    replace: "before == '!'",
    test: WIRE,
    only: 'is seen by whoever fetches a result from before it',
  },
  'a call joins a run that ended before it': {
    file: 'core/src/share/flight.ts',
    find: 'runtime.now() - result.ageMs + SHORT_MS',
    replace: 'runtime.now() + result.ageMs + SHORT_MS',
    test: KEEPING,
    only: 'is no result for a call that came behind its end',
  },
  'a copy of an older invalidate begins its generation again': {
    file: 'core/src/scripts/share/invalidate.lua',
    find: 'math.max(clock(), latest + 1)',
    replace: '1',
    test: WIRE,
    only: 'generations only grow',
  },
  'the key of one share leads to the result of another': {
    file: 'core/src/keys.ts',
    find: "name.replaceAll('%', '%25').replaceAll(':', '%3A')",
    replace: 'name',
    test: SHARE,
    only: 'is never that of another',
  },
  'runs that wait for each other wait for ever': {
    file: 'core/src/share/run-waits.ts',
    find: 'inside.name === name || waitsFor(name, inside)',
    replace: 'inside.name === name',
    test: SHARE,
    only: 'cannot wait for a run that waits for it',
  },
  'all that wait for a run that failed get its own error': {
    file: 'core/src/share/flight.ts',
    find: 'caller.fail(caller === runner ? error : told)',
    replace: 'caller.fail(runner ? error : told)',
    test: SHARE,
    only: 'fails for its caller with the error',
  },
  'a lease of which 0 ms are left has no end': {
    file: 'core/src/share/flight.ts',
    find: 'leaseLeftMs >= 0 ?',
    replace: 'leaseLeftMs > 0 ?',
    test: 'packages/testing/test/unit/test-redis.test.ts',
    only: 'of which Redis has said that 0 ms are left',
  },
}
