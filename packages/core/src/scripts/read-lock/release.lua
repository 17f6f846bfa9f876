-- release: lower the hold count of a reader; the last reader that is alive deletes the lock and wakes waiters.
-- KEYS    [1] lock hash (mode, owner -> holds)   [2] tombstone of this owner
--         [3] what the time-out keys of this owner's holds begin with
--         [4] what the time-out keys of any owner's holds begin with
-- ARGV    [1] owner   [2] holds to keep   [3] sequence of this command
--         [4] highest sequence whose copies must be refused from now on, 0 for none   [5] tombstone ttl ms
--         [6] unlock channel   [7] PUBLISH or SPUBLISH   [8] how the time-out keys of an owner go on
-- RETURNS 1 released, 2 still held, 3 superseded (a late copy), 0 this owner holds nothing
-- RETRY   safe: writes the absolute count; a full release that runs again finds nothing and answers 0
-- insert touch
-- insert publish
-- insert read-lock/readers
-- insert tombstone
local holds = tonumber(ARGV[2])

if refuseCopies(KEYS[2], holds, ARGV[3], ARGV[4], ARGV[5]) then
  return 3
end

touch(KEYS[1])

local mine = tonumber(redis.call('hget', KEYS[1], ARGV[1]) or 0)
if mine == 0 then
  return 0
end
for i = holds + 1, mine do
  redis.call('del', KEYS[3] .. ':' .. i)
end
if holds > 0 then
  redis.call('hset', KEYS[1], ARGV[1], holds)
  return 2
end
redis.call('hdel', KEYS[1], ARGV[1])
if redis.call('hget', KEYS[1], 'mode') == 'write' then
  return 1
end
if not leaveToReaders(KEYS[1], KEYS[4], ARGV[8]) then
  publish(ARGV[7], ARGV[6], '0')
end
return 1
