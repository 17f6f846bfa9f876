-- drain: take all permits that are free.
-- KEYS    [1] free permits (a number)   [2] operations of this client
-- ARGV    [1] number of this operation   [2] floor: all up to it are over   [3] ttl of operations ms
-- RETURNS how many were taken, -1 over (a late copy, or cancelled)
-- RETRY   safe: an operation counts once
-- insert counter/operation
local operation, free, over = beginOn(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
if free > 0 then
  -- Before what is kept, as in acquire. SET takes the time to live away, as Redisson's does.
  redis.call('set', KEYS[1], '0')
end
return keep(operation, math.max(free, 0))
