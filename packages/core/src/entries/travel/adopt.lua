-- adopt: put a new owner in the place of the name that stands for a token.
-- KEYS    [1] lock hash (owner -> holds)   [2] tombstone of the new owner   [3] note of the hold
--         [4] token counter, absent where the lock gives no fencing tokens
-- ARGV    [1] new owner   [2] name that stands for the token   [3] lease ms   [4] sequence of this command
--         [5] highest sequence whose copies must be refused from now on, 0 for none   [6] tombstone ttl ms
--         [7] '' for no note, else its ttl ms and a traceparent or '-'
--         [8] counter, or time   [9] lifetime of the counter ms, 0 for none
-- RETURNS 1 adopted, {fencing token} adopted, 3 superseded (a late copy),
--         {ttl ms, holder or '', holds or 0} the name is not there: the holder instead
-- RETRY   safe: compares the name and never creates; a copy finds its own owner, and the same fencing token
-- insert touch
-- insert tombstone
-- insert lock/note
touch(KEYS[1])
if isLate(KEYS[2], ARGV[4]) then
  return 3
end
local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
if not mine and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  local holder = redis.call('hgetall', KEYS[1])
  return { holder[1] and redis.call('pttl', KEYS[1]) or -2, holder[1] or '', holder[2] or 0 }
end

-- insert fenced-lock/assign-token
-- Counted before anything is renamed: without a number it would be half an adoption.
local token, failure
if KEYS[4] then
  token, failure = assignToken(KEYS[4], mine, ARGV[8], ARGV[9])
end
if failure then
  return failure
end

redis.call('hset', KEYS[1], ARGV[1], 1)
redis.call('hdel', KEYS[1], ARGV[2])
-- The time that the lock was kept for ends here; that of an owner is not made shorter by a copy.
redis.call('pexpire', KEYS[1], mine and math.max(redis.call('pttl', KEYS[1]), tonumber(ARGV[3])) or ARGV[3])
if ARGV[5] ~= '0' then
  redis.call('set', KEYS[2], ARGV[5], 'px', ARGV[6])
end
describe(KEYS[3], ARGV[1], 1, ARGV[7])
return token and { token } or 1
