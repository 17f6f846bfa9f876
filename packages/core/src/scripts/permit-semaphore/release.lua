-- release: give permits back by their ids, all or none, and wake waiters.
-- KEYS    [1] free permits (a number)   [2] ends of permits (id -> ms)   [3] operations of this client
-- ARGV    [1] number of this operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] channel   [5] PUBLISH or SPUBLISH   [6..] ids, in hex
-- RETURNS how many were given back, -1 over (a late copy, or cancelled)
-- RETRY   safe: an operation counts once
-- insert counter/once
-- insert counter/number
-- insert permit-semaphore/permits
local operation = { key = KEYS[3], number = ARGV[1], floor = ARGV[2], ttl = ARGV[3] }
local permits = { counter = KEYS[1], timeouts = KEYS[2], channel = ARGV[4], publish = ARGV[5], now = clock() }

-- A write that changes nothing comes first: after it Redis lets the rest pass, even when it is out of memory.
redis.call('hdel', KEYS[3], '')

if not numberAt(KEYS[1]) then
  return NOT_A_NUMBER
end
local outcome = outcomeOf(operation)
if outcome then
  return outcome
end
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
  giveBack(permits, count)
end
return keep(operation, count)
