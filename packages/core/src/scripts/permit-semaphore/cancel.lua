-- cancel: undo an acquire whose caller has gone; one that has not run never will.
-- KEYS    [1] free permits (a number)   [2] ends of permits (id -> ms)   [3] operations of this client
-- ARGV    [1] number of the operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] channel   [5] PUBLISH or SPUBLISH   [6..] ids, in hex
-- RETURNS how many permits went back
-- RETRY   safe: what is cancelled already has nothing to go back
-- insert counter/once
-- insert permit-semaphore/permits
local operation = { key = KEYS[3], number = ARGV[1], floor = ARGV[2], ttl = ARGV[3] }
local permits = { counter = KEYS[1], timeouts = KEYS[2], channel = ARGV[4], publish = ARGV[5] }

-- A write that changes nothing comes first: after it Redis lets the rest pass, even when it is out of memory.
redis.call('hdel', KEYS[3], '')

local count = 0
if outcomeOf(operation) == 1 then
  for i = 1, #ARGV - 5 do
    count = count + redis.call('zrem', KEYS[2], raw(ARGV[i + 5]))
  end
  giveBack(permits, count)
end
keep(operation, -1)
return count
