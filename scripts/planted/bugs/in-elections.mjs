// Mistakes in elections.
const WIRE = 'packages/core/test/redis/election-wire.test.ts'
const ELECTION = 'packages/core/test/redis/election.test.ts'
const ENDS = 'packages/core/test/redis/election-ends.test.ts'
const CHANGES = 'packages/core/test/redis/election-changes.test.ts'

export const BUGS_IN_ELECTIONS = {
  'a term begins for an owner that has lost the lock': {
    file: 'core/src/scripts/election/begin.lua',
    find: "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end",
    replace: '',
    test: WIRE,
    only: 'an owner that has no lock',
  },
  'a copy of the beginning of a term counts another token': {
    file: 'core/src/scripts/election/begin.lua',
    find: 'if not term or term.owner ~= ARGV[1] then',
    replace: 'if true then',
    test: WIRE,
    only: 'gives a copy the same token',
  },
  'tokens begin again where Redis has lost the counter alone': {
    file: 'core/src/scripts/election/begin.lua',
    find: 'if term then countOn(KEYS[3], term.token) end',
    replace: '',
    test: WIRE,
    only: 'exceeds the latest term',
  },
  'the end of a term is not noted': {
    file: 'core/src/scripts/election/release.lua',
    find: 'term.to = msNow()',
    replace: '',
    test: WIRE,
    only: 'ends the term and the lock',
  },
  'a message alone is the answer of a candidate': {
    file: 'core/src/scripts/election/ask.lua',
    find: "if term.yes == ARGV[3] .. ':' .. ARGV[2] then",
    replace: 'if true then',
    test: ENDS,
    only: 'does not answer',
  },
  'a leader that lost the lock is not told': {
    file: 'core/src/election/term.ts',
    find: 'this.finish(lossError)',
    replace: '',
    test: ELECTION,
    only: 'by force',
  },
  'the lock is given back while the callback runs': {
    file: 'core/src/election/campaign.ts',
    find: 'await this.through(term)',
    replace: 'void this.through(term)',
    test: ENDS,
    only: 'keeps the lock until the callback settles',
  },
  'the grace of a term that is lost is not taken out of its trust': {
    file: 'core/src/election/term.ts',
    find: "this.end('endangered', left)",
    replace: '',
    test: ENDS,
    only: 'lossGraceMs before the signal',
  },
  'a candidate whose terms fail at once campaigns again without a pause': {
    file: 'core/src/election/campaign.ts',
    find: 'if (this.failures > 0) {',
    replace: 'if (this.failures > 100) {',
    test: ELECTION,
    only: 'pauses after terms',
  },
  'a follower hears of the present alone': {
    file: 'core/src/election/changes.ts',
    find: 'const command = { ...election, knownToken, asksForLine: false }',
    replace: "const command = { ...election, knownToken: '', asksForLine: false }",
    test: CHANGES,
    only: 'terms that it missed',
  },
  'a follower of a fresh election misses its first terms': {
    file: 'core/src/election/changes.ts',
    find: "const BEFORE_ALL_TERMS = '0'",
    replace: "const BEFORE_ALL_TERMS = ''",
    test: CHANGES,
    only: 'misses no term of a fresh election',
  },
  'a subscription that Redis refuses for a while is given up': {
    file: 'core/src/election/listening.ts',
    find: "!port.isErrorReply(error) || proofOf(error) === 'for good'",
    replace: 'error instanceof Error',
    test: CHANGES,
    only: 'goes on where Redis refuses its subscription',
  },
  'a plain resign forgets whom an earlier one preferred': {
    file: 'core/src/election/election.ts',
    find: 'if (to !== undefined) { term.prefer(to) }',
    replace: "term.prefer(to ?? '')",
    test: ENDS,
    only: 'when a plain resign',
  },
}
