-- cancel: undo an operation whose caller has left; if it has not run yet, it never will.
-- KEYS    [1] the counter   [2] operations of this client
-- ARGV    [1] number of the operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] what its outcome counts for: that much goes back for each 1 of it   [5] channel
--         [6] PUBLISH or SPUBLISH
-- RETURNS how much was returned to the counter
-- RETRY   safe: a cancelled operation has nothing to return
-- insert counter/operation
-- insert touch
-- insert publish
touch(KEYS[2])
local operation = begin(KEYS[2], ARGV[1], ARGV[2], ARGV[3])
local back = math.max(operation.outcome or 0, 0) * tonumber(ARGV[4])
-- A counter that was deleted meanwhile has nothing to get back.
if back > 0 and redis.call('exists', KEYS[1]) == 1 then
  publish(ARGV[6], ARGV[5], redis.call('incrby', KEYS[1], back))
else
  back = 0
end
keep(operation, -1)
return back
