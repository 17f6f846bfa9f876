-- remaining: for how long a reader has its lock still: until the longest of its own leases ends, and no longer.
-- KEYS    [1] lock hash (mode, owner -> holds)   [2] what the time-out keys of this owner's holds begin with
-- ARGV    [1] owner
-- RETURNS ms, -1 without a time to live, -2 this owner holds nothing, or its leases have ended
-- RETRY   safe: changes nothing
-- insert touch
touch(KEYS[1])
local left = -2
for n = 1, tonumber(redis.call('hget', KEYS[1], ARGV[1])) or 0 do
  left = math.max(left, redis.call('pttl', KEYS[2] .. ':' .. n))
end
local ttl = redis.call('pttl', KEYS[1])
-- Another program may have removed the time to live of either key; the next renewal sets it again.
return (ttl < 0 or left < 0) and left or math.min(left, ttl)
