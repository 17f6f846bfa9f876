-- line: who is given a plain lock. One of each client of ours that waits, first come, first served.
-- A sorted set: an owner at the time it came, us of Redis; and behind `alive:`, at minus the ms until which it counts
-- as alive, so that one set has both and an order of each. Also, at minus ms, when the lock was last left to whoever comes
-- first, and when somebody last came or asked again: in the future, the clock was set back.
-- And behind the number of the protocol that it speaks, at minus the nonce of the waiter, which is below 2^40, so that no
-- life and no time is near it: who is given the lock is told in a way that only who can read this set knows.
-- It is a hint: nobody has to stand here to take a free lock. Something of another type under its name is no line.

-- For so long the lock goes from one to the next. Then it is left to whoever comes first, for somebody may listen
-- where nobody counts him: on a replica.
local LONGEST_GIVING_MS = 100

local function leave(line, owner)
  if redis.call('zrem', line, owner, 'alive:' .. owner, '2:' .. owner) > 0 and redis.call('zcount', line, 0, '+inf') == 0 then
    -- Of nobody there is nothing to hear: when the lock was left free is all that is worth keeping.
    redis.call('zrem', line, 'heard')
    redis.call('pexpire', line, LONGEST_GIVING_MS)
  end
end

-- The clock was set back since somebody last came or asked again: the dead would count as alive for as long as that. Who
-- lives stands here again at its next try. Returns whether it was so.
local function endAfterSetBack(line, now)
  local isOver = -tonumber(redis.call('zscore', line, 'heard') or 0) > now
  if isOver then
    redis.call('del', line)
  end
  return isOver
end

-- Returns until when it counts as alive, ms.
local function enqueue(line, owner, forMs, nonce)
  local time = redis.call('time')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  endAfterSetBack(line, now)
  redis.call('zadd', line, 'nx', time[1] .. string.format('%06d', time[2]), owner)
  redis.call('zadd', line, string.format('%.0f', -now - forMs), 'alive:' .. owner, '-' .. nonce, '2:' .. owner,
    string.format('%.0f', -now), 'heard')
  redis.call('pexpire', line, math.max(redis.call('pttl', line), forMs))
  return now + forMs
end
