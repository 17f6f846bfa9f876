-- look: whether the string of another library has the name of a lock; it is read, and never written.
-- KEYS    [1] lock hash, or what has its name   [2] a key that nobody ever writes
-- ARGV    none
-- RETURNS {ttl ms, -1 without a time to live; its first 200 bytes} of a string, 0 when nothing or a hash is there,
--         1 for anything else
-- RETRY   safe: changes nothing
-- A write as touch is one, but not to the key itself, which is somebody else's.
redis.call('del', KEYS[2])
local type = redis.call('type', KEYS[1]).ok
if type == 'string' then
  return { redis.call('pttl', KEYS[1]), redis.call('getrange', KEYS[1], 0, 199) }
end
return (type == 'none' or type == 'hash') and 0 or 1
