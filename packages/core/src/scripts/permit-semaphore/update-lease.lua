-- update-lease: make a permit that is still held end exactly the lease from now.
-- KEYS    [1] free permits (a number)   [2] ends of permits (id -> ms)   [3] operations of this client
-- ARGV    [1] number of this operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] channel   [5] PUBLISH or SPUBLISH   [6] lease ms   [7] id, in hex
-- RETURNS 1 done, 0 there is no such permit any more, -1 over (a late copy, or cancelled)
-- RETRY   safe: an operation counts once
-- insert counter/operation
-- insert touch
-- insert permit-semaphore/permits
local permits = { counter = KEYS[1], timeouts = KEYS[2], channel = ARGV[4], publish = ARGV[5], now = clock() }
touch(KEYS[3])
local operation, _, over = beginOn(KEYS[1], KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
reclaim(permits)
local id = raw(ARGV[7])
if not redis.call('zscore', KEYS[2], id) then
  return keep(operation, 0)
end
redis.call('zadd', KEYS[2], permits.now + tonumber(ARGV[6]), id)
return keep(operation, 1)
