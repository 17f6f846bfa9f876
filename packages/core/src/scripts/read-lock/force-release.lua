-- force-release: delete a read-write lock that is held in one mode, or named holds of it; wake waiters, and notify the clients.
-- KEYS    [1] lock hash (mode, owner -> holds)
--         [2] what the time-out keys of any owner's holds begin with   [3] note of the writer's hold
-- ARGV    [1] unlock channel   [2] PUBLISH or SPUBLISH   [3] prefix of the inbox channels of clients
--         [4] mode to release: read or write   [5] how the time-out keys of an owner go on
--         [6] 1: not what such an owner holds in the other mode   [7..] the only owners to release; absent: all
-- RETURNS the number of owners that lost it, -1 if it is held in that mode, and not by those
-- RETRY   safe: a second run finds nothing, or other owners than those that a client names
-- insert touch
-- insert publish
-- insert read-lock/wake-all
-- insert read-lock/readers
-- insert lock/shown
touch(KEYS[1])
if redis.call('hget', KEYS[1], 'mode') ~= ARGV[4] then
  return 0
end
local fields = redis.call('hgetall', KEYS[1])
local owners, named = {}, {}
for i = 1, #ARGV - 6 do named[i] = ARGV[i + 6] end
for i = 1, #fields, 2 do
  local owner = fields[i]
  local isInMode = ARGV[6] ~= '1' or (string.sub(owner, -6) == ':write') == (ARGV[4] == 'write')
  if owner ~= 'mode' and isInMode and isShown(owner, named) then
    owners[#owners + 1] = owner
    redis.call('hdel', KEYS[1], owner)
    for n = 1, tonumber(fields[i + 1]) or 0 do
      redis.call('del', KEYS[2] .. owner .. ARGV[5] .. n)
    end
  end
end
if #named > 0 and #owners == 0 then
  return -1
end
-- The other readers keep it, until their longest lease ends; a writer keeps what it reads besides.
local isLeft = leaveToReaders(KEYS[1], KEYS[2], ARGV[5])
if ARGV[4] == 'write' then
  if isLeft then
    redis.call('hset', KEYS[1], 'mode', 'read')
  end
  redis.call('del', KEYS[3])
  wakeAll(ARGV[2], ARGV[1])
elseif not isLeft then
  redis.call('del', KEYS[3])
  publish(ARGV[2], ARGV[1], '0')
end
for _, owner in ipairs(owners) do
  local client = string.match(owner, '^(.-):')
  if client then
    publish('publish', ARGV[3] .. client, owner)
  end
end
return #owners
