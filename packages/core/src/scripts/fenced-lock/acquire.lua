-- acquire: take a lock as lock/acquire does, with a token larger than that of any acquisition before.
-- KEYS    [1] lock hash (owner -> holds)   [2] tombstone of this owner   [3] note of the hold
--         [4] token counter
-- ARGV    [1] owner   [2] 1: a re-entry keeps the token it has and needs lock/acquire only   [3] lease ms
--         [4] sequence of this command   [5] highest sequence whose copies must be refused, 0 for none
--         [6] tombstone ttl ms   [7] '' for no note, else as lock/acquire   [8] counter, or time
--         [9] lifetime of the counter ms, 0 for none
-- RETURNS {token} acquired; otherwise as lock/acquire: 3 superseded, {ttl ms, holder, holds, …} held
-- RETRY   safe: an owner that has the lock already gets the same token, for nobody else counted since
-- include lock/acquire
local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1
local answer = acquireLock({ KEYS[1], KEYS[2], KEYS[3] }, ARGV)
if answer ~= 1 then
  return answer
end

local token = mine and redis.call('get', KEYS[4])
if not token then
  -- Only now, when the lock is taken: a refused caller must not count, and HSET is what fails without memory.
  local counted = redis.pcall('incr', KEYS[4])
  if type(counted) == 'table' or counted < 1 then
    -- Something that is no counter: a lock without a token would be half an acquisition.
    redis.call('del', KEYS[1], KEYS[3])
    local failure = type(counted) == 'table' and counted.err or 'WRONGTYPE A token is never negative'
    return redis.error_reply(failure .. ' (key "' .. KEYS[4] .. '")')
  end
  -- Read again: Lua's numbers are exact up to 2^53 only. For the same reason tokens are compared as text.
  token = redis.call('get', KEYS[4])
  if ARGV[8] == 'time' then
    local time = redis.call('time')
    local now = time[1] .. string.format('%06d', time[2])
    if #now > #token or (#now == #token and now > token) then
      redis.call('set', KEYS[4], now)
      token = now
    end
  end
end
if ARGV[9] ~= '0' then
  redis.call('pexpire', KEYS[4], ARGV[9])
end
return { token }
