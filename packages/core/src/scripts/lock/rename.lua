-- rename: write the new owner into the hash of a lock that was passed on inside a client without a command.
-- KEYS    [1] lock hash (owner -> holds)   [2] note of the hold, absent where it has none
-- ARGV    [1] the new owner   [2] '' for no note, else its ttl ms and a traceparent or '-'
--         [3..] earlier owners, one of which the hash may still name
-- RETURNS 1 the hash names the new owner now, 0 neither the new owner nor an earlier one has the lock
-- RETRY   safe: moves the count unchanged and never creates a lock; a late copy finds none of the earlier owners
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

-- Defining these functions costs time, so a rename without a note has returned above.
-- insert lock/note
describe(KEYS[2], ARGV[1], 1, ARGV[2])
return 1
