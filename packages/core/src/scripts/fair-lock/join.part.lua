-- join: gives an owner its place in line.
-- A waiter whose client was taken for dead comes back with the number it came at, to where it would stand by now.
-- A negative number: it does not wait. Returns the number, the place among all who wait, and how many of them are Java's.
local function join(q, owner, number, lease)
  local size = redis.call('llen', q.list)
  local known = redis.call('zscore', q.arrivals, owner)
  if not known and number >= 0 then
    -- Redisson's formula: everybody gets the same patience after the one before. Redisson lowers all times when the
    -- first has had its turn; here a time is never later than that would leave it, or a line that is never empty
    -- would drive them years ahead.
    local score = q.now + math.max(lease, 0)
    local last = redis.call('lindex', q.list, -1)
    local lastScore = last and redis.call('zscore', q.scores, last)
    if lastScore then
      score = math.min(tonumber(lastScore), score + (size + 1) * q.patience)
    end
    score = score + q.patience
    if number > 0 then
      restore(q)
    end
    local next = number > 0 and redis.call('zrangebyscore', q.arrivals, number, '+inf', 'limit', 0, 1)[1]
    if number == 0 then
      local newest = redis.call('zrange', q.arrivals, -1, -1, 'withscores')[2]
      -- The time, so that a number is never given twice, also when the line was empty in between.
      number = math.max(tonumber(newest or 0) + 1, q.now * 1000)
    end
    redis.call('zadd', q.arrivals, number, owner)
    if redis.call('zadd', q.scores, 'nx', score, owner) == 1 then
      if not next or redis.call('linsert', q.list, 'before', next, owner) < 1 then
        redis.call('rpush', q.list, owner)
      end
    end
    known = number
  end
  local strangers = foreigners(q)
  local before = known and redis.call('zrank', q.arrivals, owner) or redis.call('zcard', q.arrivals)
  return tonumber(known or 0), before + strangers + 1, strangers
end
