-- try-set: begin to count, unless that has begun.
-- KEYS    [1] the counter   [2] operations of this client
-- ARGV    [1] number of this operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] value   [5] ttl of the counter ms, 0 for none
--         [6] channel   [7] PUBLISH or SPUBLISH   [8] message
-- RETURNS 1 set, 0 there is one already, -1 over (a late copy, or cancelled)
-- RETRY   safe: an operation counts once
-- insert counter/operation
-- insert publish
local operation, _, over = beginOn(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
if redis.call('exists', KEYS[1]) == 1 then
  return keep(operation, 0)
end
redis.call('set', KEYS[1], ARGV[4])
if ARGV[5] ~= '0' then
  redis.call('pexpire', KEYS[1], ARGV[5])
end
publish(ARGV[7], ARGV[6], ARGV[8])
return keep(operation, 1)
