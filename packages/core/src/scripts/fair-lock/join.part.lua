-- join: gives an owner its place in the queue.
-- Redisson's rule: each waiter gets the same patience after the one before. Redisson lowers all times when the first
-- waiter has had its turn. Here a time is never later than that rule would leave it, or a queue that is never empty would
-- push times years ahead.
-- before: the waiter that it goes in front of, nil for the end.
local function enqueue(q, owner, lease, before)
  local score = q.now + math.max(lease, 0)
  local latest = q.listed > 0 and redis.call('zrange', q.scores, -1, -1, 'withscores')[2]
  -- The times are lost: until they are rebuilt, they need an end at least.
  q.isRebuilt = q.isRebuilt or q.listed > 0 and not latest
  if latest then
    score = math.min(tonumber(latest), score + (q.listed + 1) * q.patience)
  end
  if redis.call('zadd', q.scores, 'nx', score + q.patience, owner) == 1 then
    if not before or redis.call('linsert', q.list, 'before', before, owner) < 1 then
      redis.call('rpush', q.list, owner)
    end
    q.listed = q.listed + 1
  end
  q.ours = q.ours + 1
end

-- number: its number of arrival, 0 for a new one. A waiter whose client was taken for dead returns with its number, to
-- its place in that order. Negative: it does not wait.
-- most: how many may be in the queue for a new one to join, nil for any number. Otherwise its number is -1, less the ms that the
-- first has waited.
-- Returns the number, the place among all waiters, and how many of them are Java's.
local function join(q, owner, number, lease, most)
  local known, rank
  local isBack = number > 0
  if most and number == 0 and q.listed >= most and not redis.call('zscore', q.arrivals, owner) then
    -- Dead ones at its head do not count.
    head(q)
    if q.listed >= most then
      local first = tonumber(redis.call('zrange', q.arrivals, 0, 0, 'withscores')[2] or 0)
      local waitedMs = first > 1e15 and math.floor(q.now - first / 1000) or 0
      return -1 - math.max(0, waitedMs), q.listed + 1, redissonWaiters(q)
    end
  end
  if number == 0 then
    local newest = redis.call('zrange', q.arrivals, -1, -1, 'withscores')[2]
    -- The time, so that no number repeats, even if the queue was empty in between. A score above 2^53 is not one of our
    -- numbers, so it is ignored.
    newest = tonumber(newest or 0)
    number = math.max(newest < 9e15 and newest + 1 or 0, q.now * 1000)
    if redis.call('zadd', q.arrivals, 'nx', number, owner) == 1 then
      known, rank = number, q.ours
      enqueue(q, owner, lease)
    end
  end
  known = known or redis.call('zscore', q.arrivals, owner)
  if known and isBack and tonumber(known) ~= number then
    -- Redis had lost it, and another waiter has taken its place.
    redis.call('zadd', q.arrivals, number, owner)
    known = number
  end
  if not known and number > 0 then
    local next = redis.call('zrangebyscore', q.arrivals, number, '+inf', 'limit', 0, 1)[1]
    redis.call('zadd', q.arrivals, number, owner)
    enqueue(q, owner, lease, next)
    known = number
  end
  rank = rank or known and redis.call('zrank', q.arrivals, owner) or q.ours
  return tonumber(known or 0), rank + redissonWaiters(q) + 1, redissonWaiters(q)
end
