-- release: lower the hold count of an owner; at 0 delete the lock and wake waiters.
-- KEYS    [1] lock hash (owner -> holds)   [2] latch of this owner
--         [3] note of the hold, absent where it has none
-- ARGV    [1] owner   [2] holds to keep   [3] sequence of this command
--         [4] highest sequence whose copies must be refused from now on, 0 for none   [5] latch ttl ms
--         [6] unlock channel   [7] PUBLISH or SPUBLISH, '' to tell nobody
-- RETURNS 1 released and announced nowhere, 2 still held, 3 superseded (a late copy), 0 this owner holds nothing,
--         4 + n released, and n connections to this server heard it
-- RETRY   safe: writes the absolute count; a full release that runs again finds nothing and answers 0
local holds = tonumber(ARGV[2])

-- A write that changes nothing comes first. On a demoted primary it fails, and after it Redis lets the
-- count and the latch be written even when it is out of memory.
redis.call('hdel', KEYS[1], '')

local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
if holds > 0 then
  local latched = redis.call('get', KEYS[2])
  if latched and tonumber(ARGV[3]) <= tonumber(latched) then
    return 3
  end
end
if ARGV[4] ~= '0' then
  redis.call('set', KEYS[2], ARGV[4], 'px', ARGV[5])
end
if KEYS[3] and holds == 0 then
-- Not before: a release without a note shall not pay for it.
-- insert lock/forget
  forget(KEYS[3], ARGV[1])
end
if not mine then
  return 0
end
if holds > 0 then
  redis.call('hset', KEYS[1], ARGV[1], holds)
  return 2
end
redis.call('del', KEYS[1])
if ARGV[7] ~= '' then
  return 4 + redis.call(ARGV[7], ARGV[6], '0')
end
return 1
