-- release: release permits by their ids, all or none, and wake waiters.
-- KEYS    [1] free permits (a number)   [2] ends of permits (id -> ms)   [3] operations of this client
-- ARGV    [1] number of this operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] channel   [5] PUBLISH or SPUBLISH   [6..] ids, in hex
-- RETURNS how many were released, -1 over (a late copy, or cancelled)
-- RETRY   safe: an operation counts once
-- insert counter/operation
-- insert touch
-- insert permit-semaphore/permits
local permits = { counter = KEYS[1], timeouts = KEYS[2], channel = ARGV[4], publish = ARGV[5], now = clock() }
touch(KEYS[3])
local operation, _, over = beginOn(KEYS[1], KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
reclaim(permits)
local missing = 0
for i = 1, #ARGV - 5 do
  if not redis.call('zscore', KEYS[2], raw(ARGV[i + 5])) then
    missing = missing + 1
  end
end
local count = 0
if missing == 0 then
  for i = 1, #ARGV - 5 do
    count = count + redis.call('zrem', KEYS[2], raw(ARGV[i + 5]))
  end
  release(permits, count)
end
return keep(operation, count)
