-- release: lower the hold count of an owner; at 0 grant the lock to the first in the queue, or delete it and wake waiters.
-- KEYS    [1] lock hash (owner -> holds)   [2] queue of waiters that a release may grant the lock to
--         [3] tombstone of this owner; absent for a full release when no copy of a command can be on its way
--         [4] note of the hold; absent if it has none
-- ARGV    [1] owner   [2] holds to keep   [3] sequence of this command
--         [4] highest sequence whose copies must be refused from now on, 0 for none   [5] tombstone ttl ms
--         [6] unlock channel   [7] PUBLISH or SPUBLISH, '' to publish nothing
--         [8] how many connections of this client listen to that channel without a waiter in the queue; '' to grant the
--         lock to no waiter   [9] prefix of the inbox channels of clients
--         [10] present if the release is to be announced only while a waiter is in the queue
-- RETURNS 1 released and not announced, 2 still held, 3 superseded (a late copy), 0 this owner holds nothing,
--         4 + n released, and n connections to this server received the message, -n granted to a waiter for n ms
-- RETRY   safe: writes the absolute count; a full release that runs again finds nothing and answers 0
local holds = tonumber(ARGV[2])

local isPlain = holds == 0 and ARGV[4] == '0' and not KEYS[4]
-- A write in any case, even if this owner holds nothing: on a demoted primary it fails, and after it Redis accepts the
-- writes that follow even when it is out of memory. Removing the last field of a hash deletes the hash.
local removed = isPlain and redis.call('hdel', KEYS[1], ARGV[1])
-- pcall: if the key has another type there is no queue, and the release is announced to every waiter. Below, as in publish.
local inLine = isPlain and redis.pcall('zcard', KEYS[2])
-- One member alone is no waiter, but the time when the lock was last left free, and that is now.
if inLine == 1 and removed == 1 then inLine = redis.call('del', KEYS[2]) - 1 end
if inLine == 0 then
  if removed == 0 then return 0 end
  if ARGV[10] then return 4 end
  if ARGV[7] == '' then return 1 end
  return 4 + (tonumber(redis.pcall(ARGV[7], ARGV[6], '0')) or 0)
end

-- Defining these functions costs time, so a full release without a note and with an empty queue has returned above.
-- insert tombstone
-- insert lock/forget
if not isPlain then
  if (holds > 0 or ARGV[4] ~= '0') and refuseCopies(KEYS[3], holds, ARGV[3], ARGV[4], ARGV[5]) then
    return 3
  end
  removed = redis.call('hdel', KEYS[1], holds == 0 and ARGV[1] or '')
  if holds > 0 then
    if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
      return 0
    end
    redis.call('hset', KEYS[1], ARGV[1], holds)
    return 2
  end
  if KEYS[4] then
    forget(KEYS[4], ARGV[1])
  end
  inLine = redis.pcall('zcard', KEYS[2])
end
local mine = removed == 1

-- Below the release of one level, for the same reason.
-- insert lock/grant-to-first
if type(inLine) == 'number' and inLine > 0 then
  leave(KEYS[2], ARGV[1])
  local grantedForMs = mine and grantToFirst(KEYS[2], KEYS[1], ARGV[7], ARGV[6], tonumber(ARGV[8]), ARGV[9])
  if grantedForMs then
    return -grantedForMs
  end
  -- The last waiter has left a free lock: no release comes that would delete the time when it was last left free.
  if not mine and redis.call('exists', KEYS[1]) == 0 and redis.call('zcount', KEYS[2], 0, '+inf') == 0 then
    redis.call('del', KEYS[2])
  end
end
if not mine then
  return 0
end
if ARGV[10] and inLine == 0 then
  return 4
end
if ARGV[7] ~= '' then
  return 4 + (publish(ARGV[7], ARGV[6], '0') or 0)
end
return 1
