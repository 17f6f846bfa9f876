-- look: tell whether the key of a lock holds another library's string. Reads that string, and never writes to it.
-- KEYS    [1] lock hash, or another key of that name   [2] a key that is never written
-- ARGV    none
-- RETURNS {ttl ms, or -1 without one; first 200 bytes} of a string, 0 if there is no key or a hash,
--         1 for a key of any other type
-- RETRY   safe: changes nothing
-- A write that changes nothing, as in touch, but on a key of ours: the lock's key belongs to another library.
redis.call('del', KEYS[2])
local type = redis.call('type', KEYS[1]).ok
if type == 'string' then
  return { redis.call('pttl', KEYS[1]), redis.call('getrange', KEYS[1], 0, 199) }
end
return (type == 'none' or type == 'hash') and 0 or 1
