-- shorten: let the lease of the owner of a lock end sooner.
-- KEYS    [1] lock hash (owner -> holds)   [2] tombstone of this owner
-- ARGV    [1] owner   [2] lease ms, '' to refuse copies alone   [3] sequence of this command
--         [4] highest sequence whose copies must be refused from now on, 0 for none   [5] tombstone ttl ms
-- RETURNS 1 the lease ends then, or sooner, 2 superseded (a late copy), 0 this owner does not have it
-- RETRY   safe: compares the owner, never creates, never lengthens; a copy that comes after a longer lease was granted meets
--         the tombstone
-- insert touch
-- insert tombstone
-- insert end-within
if refuseCopies(KEYS[2], 1, ARGV[3], ARGV[4], ARGV[5]) then
  return 2
end

touch(KEYS[1])
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return 0
end
local lease = tonumber(ARGV[2])
if lease then
  endWithin(KEYS[1], lease)
end
return 1
