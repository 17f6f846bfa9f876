-- accept: answer the question of a leader: a waiter of this client will lead next.
-- KEYS    [1] lock hash (owner -> holds)   [2] terms   [3] queue
-- ARGV    [1] client id   [2] token of the leader's term   [3] number of the question   [4] channel of the election
--         [5] PUBLISH or SPUBLISH
-- RETURNS 1 noted, 0 the term is over, or no waiter of this client is queued
-- RETRY   safe: writes the same answer
-- insert touch
-- insert publish
-- insert election/terms
-- insert election/candidates
touch(KEYS[1])
local term = latestTerm(KEYS[2])
if not term or term.token ~= ARGV[2] or term.to or redis.call('hexists', KEYS[1], term.owner) == 0 then
  return 0
end
if not firstOf(KEYS[3], ARGV[1]) then
  return 0
end
term.yes = ARGV[3] .. ':' .. ARGV[1]
replaceLatest(KEYS[2], term)
publish(ARGV[5], ARGV[4], '1:yes')
return 1
