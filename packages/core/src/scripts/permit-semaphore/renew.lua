-- renew: make a permit that is still held end at least the lease from now.
-- KEYS    [1] ends of permits (id -> ms)
-- ARGV    [1] lease ms   [2] id, in hex
-- RETURNS ms until it ends, 0 when it has ended or was released
-- RETRY   safe: never creates, never shortens; ids are never used again
-- insert permit-semaphore/permits
-- A write as touch is one, for a sorted set.
redis.call('zrem', KEYS[1], '')
local now, id = clock(), raw(ARGV[2])
local ends = tonumber(redis.call('zscore', KEYS[1], id) or 0)
if ends <= now then
  return 0
end
local renewed = now + tonumber(ARGV[1])
if renewed > ends then
  redis.call('zadd', KEYS[1], renewed, id)
  return renewed - now
end
-- ZADD of the end that it has is no write, and an answer that replicas acknowledge needs one: see lock/renew.
redis.call('zadd', KEYS[1], ends, '')
redis.call('zrem', KEYS[1], '')
return ends - now
