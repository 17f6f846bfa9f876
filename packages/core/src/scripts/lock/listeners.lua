-- listeners: count the connections that wait for the message of a release.
-- KEYS    [1] lock hash, or free permits
-- ARGV    [1] channel   [2] PUBLISH or SPUBLISH
-- RETURNS how many there are at this server; 0 where there is no such key, so that nobody has to wait, or the user may not
--         ask
-- RETRY   safe: changes nothing
if redis.call('exists', KEYS[1]) == 0 then
  return 0
end
local heard = ARGV[2] == 'SPUBLISH' and redis.pcall('pubsub', 'shardnumsub', ARGV[1])
  or redis.pcall('pubsub', 'numsub', ARGV[1])
return tonumber(heard[2]) or 0
