-- add: add permits, or remove some; the number that is free may go below 0.
-- KEYS    [1] free permits (a number)   [2] operations of this client
-- ARGV    [1] number of this operation   [2] floor: all up to it are over   [3] ttl of operations ms
--         [4] permits, may be negative   [5] channel   [6] PUBLISH or SPUBLISH   [7] 1: its time to live stays
-- RETURNS 1 done, -1 over (a late copy, or cancelled)
-- RETRY   safe: an operation counts once
-- insert counter/operation
-- insert publish
local operation, free, over = beginOn(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3])
if over then return over end
free = free + tonumber(ARGV[4])
if ARGV[7] == '1' then
  redis.call('set', KEYS[1], free, 'keepttl')
else
  redis.call('set', KEYS[1], free)
end
if free >= 0 then
  -- A Java listener cannot read a negative number as permits, and no caller could take any.
  publish(ARGV[6], ARGV[5], free)
end
return keep(operation, 1)
