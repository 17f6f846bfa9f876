-- set: the total number of permits; the number of free ones may go below 0.
-- KEYS    [1] free permits (a number)   [2] ends of permits (id -> ms)   [3] operations of this client
-- ARGV    [1] number of this operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] channel   [5] PUBLISH or SPUBLISH   [6] permits
-- RETURNS 1 done, -1 over (a late copy, or cancelled)
-- RETRY   safe: an operation counts once
-- insert counter/operation
-- insert permit-semaphore/permits
local operation, _, over = beginOn(KEYS[1], KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
local now = clock()
local taken = redis.call('zcount', KEYS[2], '(' .. now, '+inf')
-- SET comes first: it is what Redis refuses when out of memory. What has ended counts as free with it.
local left = tonumber(ARGV[6]) - taken
redis.call('set', KEYS[1], left, 'keepttl')
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
if left >= 0 then
  publish(ARGV[5], ARGV[4], left)
end
return keep(operation, 1)
