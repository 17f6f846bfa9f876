-- release: release permits and wake waiters.
-- KEYS    [1] free permits (a number)   [2] operations of this client
-- ARGV    [1] number of this operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] permits   [5] 1: only if there is a semaphore   [6] channel   [7] PUBLISH or SPUBLISH
-- RETURNS 1 released, 0 there is no semaphore, -1 over (a late copy, or cancelled)
-- RETRY   safe: an operation counts once
-- insert counter/operation
-- insert touch
-- insert publish
touch(KEYS[2])
local operation, _, over = beginOn(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
if ARGV[5] == '1' and redis.call('exists', KEYS[1]) == 0 then
  return keep(operation, 0)
end
publish(ARGV[7], ARGV[6], redis.call('incrby', KEYS[1], ARGV[4]))
return keep(operation, 1)
