-- queue: the waiters that a plain lock is granted to. One waiter of each Holdfast client, first come, first served.
-- A sorted set: each owner, scored with its time of arrival (us of Redis); and `alive:` plus the owner, scored with minus
-- the ms until which it counts as alive, so that one set holds both orders. Also, at minus ms: when the lock was last left
-- free for all, and when a waiter last arrived or asked again. If that is in the future, the clock was set back.
-- And the protocol number of an owner, scored with minus the waiter's nonce. Nonces are below 2^40, far from any time or
-- end of a window. A grant carries a proof of the nonce, so only a client that can read this set can announce one.
-- The queue is a hint: a waiter need not be in it to take a free lock. A key of another type under its name is no queue.

-- For this long the lock passes to waiters that came since it was last left free. Then it is left free again, because
-- there may be a listener that is not counted: on a replica.
local LONGEST_GRANTING_MS = 100

-- The time when the lock was last left free outlives an empty queue by this. It could end with the next release that finds
-- nobody in the queue, and does; were it to end before, two waiters that come back late would pass the lock for ever.
local MARK_TTL_MS = 120000

local function leave(queue, owner)
  if redis.call('zrem', queue, owner, 'alive:' .. owner, '2:' .. owner) > 0 and redis.call('zcount', queue, 0, '+inf') == 0 then
    -- An empty queue has no waiter to describe: only the time when the lock was last left free is kept.
    redis.call('zrem', queue, 'heard')
    redis.call('pexpire', queue, MARK_TTL_MS)
  end
end

-- The clock was set back since a waiter last arrived or asked again: dead waiters would count as alive for that long.
-- A living waiter joins again at its next attempt. Returns whether the clock was set back.
local function endAfterSetBack(queue, now)
  local isOver = -tonumber(redis.call('zscore', queue, 'heard') or 0) > now
  if isOver then
    redis.call('del', queue)
  end
  return isOver
end

-- Returns until when it counts as alive, ms.
local function enqueue(queue, owner, forMs, nonce)
  local time = redis.call('time')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  endAfterSetBack(queue, now)
  redis.call('zadd', queue, 'nx', time[1] .. string.format('%06d', time[2]), owner)
  redis.call('zadd', queue, string.format('%.0f', -now - forMs), 'alive:' .. owner, '-' .. nonce, '2:' .. owner,
    string.format('%.0f', -now), 'heard')
  redis.call('pexpire', queue, math.max(redis.call('pttl', queue), forMs))
  return now + forMs
end
