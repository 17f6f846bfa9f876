-- ask: a leader asks the waiters of a client whether one of them will lead next, and learns the answer.
-- KEYS    [1] lock hash (owner -> holds)   [2] terms   [3] queue
-- ARGV    [1] owner   [2] client id of the candidate   [3] number of the question   [4] channel of the election
--         [5] PUBLISH or SPUBLISH
-- RETURNS 2 one of them will, 1 asked, 0 none of them is queued, -1 this owner does not lead
-- RETRY   safe: asks again; an answer counts for the question of its number alone
-- insert touch
-- insert publish
-- insert election/terms
-- insert election/candidates
touch(KEYS[1])
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return -1
end
if not firstOf(KEYS[3], ARGV[2]) then
  return 0
end
local term = latestTerm(KEYS[2])
if not term or term.owner ~= ARGV[1] then
  -- Redis has lost the term; the leader writes it again soon, and asks again.
  return 1
end
if term.yes == ARGV[3] .. ':' .. ARGV[2] then
  return 2
end
publish(ARGV[5], ARGV[4], '1:ask:' .. term.token .. ':' .. ARGV[3] .. ':' .. ARGV[2])
return 1
