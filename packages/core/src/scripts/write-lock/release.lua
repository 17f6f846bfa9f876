-- release: lower the hold count of the writer; at 0 only its read holds are left, and waiters of both kinds try.
-- KEYS    [1] lock hash (mode, owner -> holds)   [2] tombstone of this owner   [3] waiting writers
--         [4] what the time-out keys of any owner's holds begin with
--         [5] note of the hold, absent where it has none
-- ARGV    [1] owner   [2] holds to keep   [3] sequence of this command
--         [4] highest sequence whose copies must be refused from now on, 0 for none   [5] tombstone ttl ms
--         [6] unlock channel   [7] PUBLISH or SPUBLISH   [8] how the time-out keys of an owner go on
-- RETURNS 4 + n released, and n connections to this server received the message, 2 still held, 3 superseded (a late copy), 0 this owner holds nothing
-- RETRY   safe: writes the absolute count; a full release that runs again finds nothing and answers 0
-- insert touch
-- insert read-lock/wake-all
-- insert lock/forget
-- insert read-lock/readers
-- insert read-lock/writers
-- insert tombstone
local holds = tonumber(ARGV[2])

if refuseCopies(KEYS[2], holds, ARGV[3], ARGV[4], ARGV[5]) then
  return 3
end

touch(KEYS[1])

local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
if holds > 0 then
  if mine then
    redis.call('hset', KEYS[1], ARGV[1], holds)
  end
  return mine and 2 or 0
end
if KEYS[5] then
  forget(KEYS[5], ARGV[1])
end

-- pcall: a key of another type as the queue of writers blocks no release, and is left as it is.
local left = redis.pcall('zrem', KEYS[3], ARGV[1])
if not mine then
  if left == 1 and not writersWait(KEYS[3]) then
    -- Readers that waited only because of it would sleep on. Writers that died may still be in the set.
    wakeAll(ARGV[7], ARGV[6])
  end
  return 0
end
redis.call('hdel', KEYS[1], ARGV[1])
if leaveToReaders(KEYS[1], KEYS[4], ARGV[8]) then
  -- It keeps the read lock: waiting readers may join.
  redis.call('hset', KEYS[1], 'mode', 'read')
end
-- After a writer it is the turn of the waiting readers: waiting writers announce themselves again when refused.
if type(left) == 'number' then
  redis.call('del', KEYS[3])
end
return 4 + wakeAll(ARGV[7], ARGV[6])
