-- force-release: delete a read-write lock that is held in one mode, wake waiters, tell the clients that had it.
-- KEYS    [1] lock hash (mode, owner -> holds)
--         [2] what the time-out keys of any owner's holds begin with   [3] note of the writer's hold
-- ARGV    [1] unlock channel   [2] PUBLISH or SPUBLISH   [3] prefix of the inbox channels of clients
--         [4] mode to release: read or write   [5] how the time-out keys of an owner go on
-- RETURNS the number of owners that lost it
-- RETRY   safe: a second run finds nothing
-- insert touch
-- insert read-lock/wake-all
touch(KEYS[1])
if redis.call('hget', KEYS[1], 'mode') ~= ARGV[4] then
  return 0
end
local fields = redis.call('hgetall', KEYS[1])
redis.call('del', KEYS[1], KEYS[3])
if ARGV[4] == 'write' then
  wakeAll(ARGV[2], ARGV[1])
else
  redis.call(ARGV[2], ARGV[1], '0')
end
for i = 1, #fields, 2 do
  local owner = fields[i]
  for n = 1, tonumber(fields[i + 1]) or 0 do
    redis.call('del', KEYS[2] .. owner .. ARGV[5] .. n)
  end
  local client = string.match(owner, '^(.-):')
  if client then
    redis.call('publish', ARGV[3] .. client, owner)
  end
end
return #fields / 2 - 1
