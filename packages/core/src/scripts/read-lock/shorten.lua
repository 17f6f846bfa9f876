-- shorten: let the lease of a reader end sooner. The lock is kept for its writer, or for the reader that has it longest.
-- KEYS    [1] lock hash (mode, owner -> holds)   [2] tombstone of this owner
--         [3] what the time-out keys of this owner's holds begin with
--         [4] what the time-out keys of any owner's holds begin with
-- ARGV    [1] owner   [2] lease ms, '' to refuse copies alone   [3] sequence of this command
--         [4] highest sequence whose copies must be refused from now on, 0 for none   [5] tombstone ttl ms
--         [6] how the time-out keys of an owner go on
-- RETURNS 1 the lease ends then, or sooner, 2 superseded (a late copy), 0 this owner holds nothing
-- RETRY   safe: as lock/shorten
-- insert touch
-- insert read-lock/readers
-- insert tombstone
-- insert end-within
if refuseCopies(KEYS[2], 1, ARGV[3], ARGV[4], ARGV[5]) then
  return 2
end

touch(KEYS[1])
local holds = tonumber(redis.call('hget', KEYS[1], ARGV[1]) or 0)
if holds == 0 then
  return 0
end
local lease = tonumber(ARGV[2])
if not lease then
  return 1
end
for n = 1, holds do
  endWithin(KEYS[3] .. ':' .. n, lease)
end
if redis.call('hget', KEYS[1], 'mode') == 'read' then
  endWithin(KEYS[1], math.max(lease, longestOfReaders(KEYS[1], KEYS[4], ARGV[6])))
end
return 1
