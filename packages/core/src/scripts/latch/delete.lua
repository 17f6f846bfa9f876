-- delete: remove the latch; its count then reads 0.
-- KEYS    [1] the count   [2] operations of this client
-- ARGV    [1] number of this operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] channel   [5] PUBLISH or SPUBLISH
-- RETURNS 1 deleted, 0 there is no latch, -1 over (a late copy, or cancelled)
-- RETRY   safe: an operation counts once
-- insert counter/operation
-- insert touch
-- insert publish
touch(KEYS[2])
local operation, _, over = beginOn(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
if redis.call('del', KEYS[1]) == 0 then
  return keep(operation, 0)
end
-- The same message as Redisson's: its waiters take it for a new count and keep sleeping; Holdfast's check and pass.
publish(ARGV[5], ARGV[4], '1')
return keep(operation, 1)
