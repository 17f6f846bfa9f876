-- cancel: undo an acquire whose caller has left; if it has not run yet, it never will.
-- KEYS    [1] free permits (a number)   [2] ends of permits (id -> ms)   [3] operations of this client
-- ARGV    [1] number of the operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] channel   [5] PUBLISH or SPUBLISH   [6..] ids, in hex
-- RETURNS how many permits went back
-- RETRY   safe: a second run finds nothing to release
-- insert counter/operation
-- insert touch
-- insert permit-semaphore/permits
local permits = { counter = KEYS[1], timeouts = KEYS[2], channel = ARGV[4], publish = ARGV[5] }
touch(KEYS[3])
local operation = begin(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
local count = 0
if operation.outcome == 1 then
  for i = 1, #ARGV - 5 do
    count = count + redis.call('zrem', KEYS[2], raw(ARGV[i + 5]))
  end
  release(permits, count)
end
keep(operation, -1)
return count
