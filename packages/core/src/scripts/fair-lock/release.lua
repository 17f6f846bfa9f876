-- release: lower the hold count of an owner; at 0 nothing of it is left, in the lock or in the queue, and the next has it.
-- KEYS    [1] lock hash (owner -> holds)   [2] queue   [3] time-outs   [4] arrivals   [5] heartbeats
--         [6] tombstone of this owner   [7] note of the hold, absent where it has none
-- ARGV    [1] owner   [2] holds to keep   [3] sequence of this command
--         [4] highest sequence whose copies must be refused from now on, 0 for none   [5] tombstone ttl ms
--         [6] ms that Redisson gives each waiter
--         [7] prefix of the inbox channels of clients   [8] unlock channel   [9] PUBLISH or SPUBLISH
--         [10..] waiters that it was passed on to inside their process, which is queued still
-- RETURNS 1 released, 2 still held, 3 superseded (a late copy), 0 this owner holds nothing,
--         -n released, and a waiter of ours has n ms to use it while others wait
-- RETRY   safe: writes the absolute count; a full release that runs again finds nothing and answers 0
local isPlain = ARGV[2] == '0' and ARGV[4] == '0' and not KEYS[7] and #ARGV <= 9
-- pcall: the way out of the queue is open also when something of another type has the name of the lock.
if isPlain and redis.pcall('hexists', KEYS[1], ARGV[1]) == 1 and redis.call('exists', KEYS[2], KEYS[4]) == 0 then
  redis.call('del', KEYS[1])
  return 1
end

-- Defining these functions costs time, so a full release without a note and with an empty queue has returned above.
-- insert fair-lock/end-hold
-- insert tombstone
local holds = tonumber(ARGV[2])
if refuseCopies(KEYS[6], holds, ARGV[3], ARGV[4], ARGV[5]) then return 3 end

if holds > 0 then
  local mine = redis.pcall('hexists', KEYS[1], ARGV[1]) == 1
  touch(KEYS[1])
  if mine then
    redis.call('hset', KEYS[1], ARGV[1], holds)
  end
  return mine and 2 or 0
end

local function openQueue()
  return queueAt(KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[6])
end
local passed = {}
for i = 1, #ARGV - 9 do passed[i] = ARGV[i + 9] end
return endHold(KEYS[1], ARGV[1], KEYS[7], openQueue, passed, ARGV[7], ARGV[8], ARGV[9])
