-- rename: rename the field of a lock that was passed on along its queue, and remove its owner and those before it from the queue.
-- KEYS    [1] lock hash (owner -> holds)   [2] queue   [3] time-outs   [4] arrivals   [5] heartbeats
--         [6] note of the hold, absent where it has none
-- ARGV    [1] owner to be named   [2] '' for no note, else its ttl ms and a traceparent or '-'
--         [3] ms that Redisson gives each waiter
--         [4] prefix of the inbox channels of clients   [5] unlock channel   [6] PUBLISH or SPUBLISH
--         [7] how many owners may be named there still   [8..] these, and the waiters that it was passed on to
-- RETURNS 1 named so now, 2 was named so already, perhaps because Redis granted it the lock, 0 none of them has it
-- RETRY   safe: moves the count as it is and never creates; a late copy finds none of them
-- insert touch
-- insert fair-lock/head
-- insert fair-lock/grant-to-first
-- insert fair-lock/leave-passed
-- insert lock/move
-- insert lock/is-free
-- insert lock/note
touch(KEYS[1])
local earlier = tonumber(ARGV[7])
local moved
for i = 1, earlier do
  moved = moved or move(KEYS[1], ARGV[i + 7], ARGV[1])
end
if moved and KEYS[6] then
  describe(KEYS[6], ARGV[1], 1, ARGV[2])
end
local isNamed = moved or redis.call('hexists', KEYS[1], ARGV[1]) == 1
besideLock(function()
  local q = queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[3])
  local passed = {}
  for i = earlier + 1, #ARGV - 7 do passed[i - earlier] = ARGV[i + 7] end
  leavePassed(q, KEYS[1], passed, not isNamed)
  local first = not isNamed and isFree(KEYS[1]) and head(q)
  if first then
    grantToFirst(q, KEYS[1], first, ARGV[4], ARGV[5], ARGV[6])
  end
  tidy(q)
end)
return moved and 1 or isNamed and 2 or 0
