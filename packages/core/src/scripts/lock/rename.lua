-- rename: let the field of a lock that was passed on inside its process follow the owner.
-- KEYS    [1] lock hash (owner -> holds)   [2] note of the hold, absent where it has none
-- ARGV    [1] owner to be named   [2] '' for no note, else its ttl ms and a traceparent or '-'
--         [3..] owners that may be named there still
-- RETURNS 1 named so now, 0 none of them has the lock
-- RETRY   safe: moves the count as it is and never creates; a late copy finds none of the earlier owners
-- insert touch
-- insert lock/move
touch(KEYS[1])
local moved
for i = 1, #ARGV - 2 do
  moved = moved or move(KEYS[1], ARGV[i + 2], ARGV[1])
end
if not moved then
  return redis.call('hexists', KEYS[1], ARGV[1])
end
if not KEYS[2] then
  return 1
end

-- Not before: a rename without a note shall not pay for it.
-- insert lock/note
describe(KEYS[2], ARGV[1], 1, ARGV[2])
return 1
