-- assign-token: the fencing token of an acquisition, counted unless its owner has one already.
-- Nil and an error if the key is no counter: a fenced lock is not acquired without a token.
-- hasOne: the owner had the lock before, so no other owner counted since; source: 'time', or counting alone; ttl: lifetime
-- of the counter ms, '0' for none.
local function assignToken(counter, hasOne, source, ttl)
  local token = hasOne and redis.call('get', counter)
  if not token then
    local counted = redis.pcall('incr', counter)
    if type(counted) == 'table' or counted < 1 then
      local failure = type(counted) == 'table' and counted.err or 'WRONGTYPE A token is never negative'
      return nil, redis.error_reply(failure .. ' (key "' .. counter .. '")')
    end
    -- Read again: Lua's numbers are exact up to 2^53 only. For the same reason tokens are compared as text.
    token = redis.call('get', counter)
    if source == 'time' then
      local time = redis.call('time')
      local now = time[1] .. string.format('%06d', time[2])
      if #now > #token or (#now == #token and now > token) then
        redis.call('set', counter, now)
        token = now
      end
    end
  end
  if ttl ~= '0' then
    redis.call('pexpire', counter, ttl)
  end
  return token
end
