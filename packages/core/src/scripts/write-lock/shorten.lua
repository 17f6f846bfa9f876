-- shorten: make the lease of a writer end sooner, but not before that of its own read holds.
-- KEYS    [1] lock hash (mode, owner -> holds)   [2] tombstone of this owner
--         [3] what the time-out keys of any owner's holds begin with
-- ARGV    [1] owner   [2] lease ms, '' to refuse copies alone   [3] sequence of this command
--         [4] highest sequence whose copies must be refused from now on, 0 for none   [5] tombstone ttl ms
--         [6] how the time-out keys of an owner go on
-- RETURNS 1 the lease ends then, or as soon as it may, 2 superseded (a late copy), 0 this owner holds nothing
-- RETRY   safe: as lock/shorten
-- insert touch
-- insert read-lock/readers
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
  endWithin(KEYS[1], math.max(lease, longestOfReaders(KEYS[1], KEYS[3], ARGV[6])))
end
return 1
