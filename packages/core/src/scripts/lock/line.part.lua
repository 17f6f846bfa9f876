-- line: who is given a plain lock. One of each client of ours that waits, first come, first served.
-- A sorted set: an owner at the time it came, us of Redis; and behind `alive:`, at minus the ms until which it counts
-- as alive, so that one set has both and an order of each. Also, at minus ms, when the lock was last left to whoever comes
-- first, and when somebody last came or asked again: in the future, the clock was set back.
-- And behind the number of the protocol that it speaks, at minus the nonce of the waiter, which is below 2^40, so that no
-- life and no time is near it: who is given the lock is told in a way that only who can read this set knows.
-- It is a hint: nobody has to stand here to take a free lock. Something of another type under its name is no line.
local LIFE = 'alive:'
local NONCE = '2:'
local LEFT_FREE = 'left-free'
local HEARD = 'heard'
-- For so long the lock goes from one to the next. Then it is left to whoever comes first, for somebody may listen
-- where nobody counts him: on a replica.
local LONGEST_GIVING_MS = 100

local function micros()
  local time = redis.call('time')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function leave(line, owner)
  if redis.call('zrem', line, owner, LIFE .. owner, NONCE .. owner) > 0 and redis.call('zcount', line, 0, '+inf') == 0 then
    redis.call('pexpire', line, LONGEST_GIVING_MS)
  end
end

-- The clock was set back since somebody last came or asked again: the dead would count as alive for as long as that. Who
-- lives stands here again at its next try. Returns whether it was so.
local function endAfterSetBack(line, now)
  local isOver = -tonumber(redis.call('zscore', line, HEARD) or 0) > now
  if isOver then
    redis.call('del', line)
  end
  return isOver
end

-- Returns until when it counts as alive, ms.
local function stand(line, owner, forMs, nonce)
  local now = micros()
  endAfterSetBack(line, math.floor(now / 1000))
  local untilMs = math.floor(now / 1000) + forMs
  redis.call('zadd', line, 'nx', string.format('%.0f', now), owner)
  redis.call('zadd', line, string.format('%.0f', -untilMs), LIFE .. owner, '-' .. nonce, NONCE .. owner,
    string.format('%.0f', -math.floor(now / 1000)), HEARD)
  redis.call('pexpire', line, math.max(redis.call('pttl', line), forMs))
  return untilMs
end
