-- acquire: take a lock as lock/acquire does, with a token larger than that of any acquisition before.
-- KEYS    [1] lock hash (owner -> holds)   [2] tombstone of this owner   [3] note of the hold
--         [4] token counter
-- ARGV    [1] owner   [2] 1: a re-entry keeps the token it has and needs lock/acquire only   [3] lease ms
--         [4] sequence of this command   [5] highest sequence whose copies must be refused, 0 for none
--         [6] tombstone ttl ms   [7] '' for no note, else as lock/acquire   [8] counter, or time
--         [9] lifetime of the counter ms, 0 for none
-- RETURNS {token} acquired; otherwise as lock/acquire: 3 superseded, {ttl ms, holder, holds, …} held
-- RETRY   safe: an owner that has the lock already gets the same token, because no other owner counted since
-- insert fenced-lock/assign-token
-- Only when the lock is taken: a refused caller must not count, and HSET is what fails without memory.
local function withToken(mine)
  local token, failure = assignToken(KEYS[4], mine, ARGV[8], ARGV[9])
  if failure then
    redis.call('del', KEYS[1], KEYS[3])
  end
  return failure or { token }
end

local isPlain = tonumber(ARGV[2]) == 1 and ARGV[5] == '0' and ARGV[7] == ''
if isPlain and redis.call('exists', KEYS[1], KEYS[2]) == 0 then
  redis.call('hset', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[3])
  return withToken(false)
end

-- Defining these functions costs time, so an acquire of a free lock without a note has returned above.
-- insert lock/take
-- insert lock/note
local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
local holder = mine and {} or redis.call('hgetall', KEYS[1])
local answer = take(KEYS[1], KEYS[2], ARGV, mine, not holder[1], mine)
if not answer then
  return { redis.call('pttl', KEYS[1]), holder[1], holder[2], 0, noteOf(KEYS[3], holder[1]) }
end
if answer ~= 1 then return answer end
describe(KEYS[3], ARGV[1], tonumber(ARGV[2]), ARGV[7])
return withToken(mine)
