-- set: write a value, unless it was written with a higher token.
-- KEYS    [1] hash (token, value, writer, sequence)
-- ARGV    [1] token   [2] value   [3] lifetime ms, 0 for none   [4] writer   [5] sequence of the writer's write
-- RETURNS {1, token} accepted, {0, highest token} refused
-- RETRY   safe: under one token, a write that comes after a later one of its writer changes nothing
-- insert touch
local kept = redis.call('hmget', KEYS[1], 'token', 'writer', 'sequence')
local isOurs = kept[1] and kept[2] and kept[3] and string.match(kept[1], '^%d+$')
if not isOurs and redis.call('exists', KEYS[1]) == 1 then
  return redis.error_reply('WRONGTYPE The hash at this key was not written by fencedSet')
end
local highest = kept[1] or '0'

-- As text: tokens may be longer than what Lua's numbers hold exactly.
local token = ARGV[1]
local isStale = #token < #highest or (#token == #highest and token < highest)
local isCopy = token == highest and ARGV[4] == kept[2] and tonumber(ARGV[5]) <= tonumber(kept[3])
if isStale or isCopy then
  touch(KEYS[1])
  return { isStale and 0 or 1, highest }
end

redis.call('hset', KEYS[1], 'token', token, 'value', ARGV[2], 'writer', ARGV[4], 'sequence', ARGV[5])
if ARGV[3] ~= '0' then
  redis.call('pexpire', KEYS[1], ARGV[3])
else
  redis.call('persist', KEYS[1])
end
return { 1, token }
