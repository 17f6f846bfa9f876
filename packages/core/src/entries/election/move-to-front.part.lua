-- move-to-front: puts a waiter before all others in the queue, in all that orders it, so that a release grants it the lock.
-- insert election/candidates
local function moveToFront(q, client)
  local owner, place = firstOf(q.list, client)
  if not owner or place == 1 then
    return
  end
  local first = redis.call('lindex', q.list, 0)
  redis.call('lrem', q.list, 1, owner)
  redis.call('linsert', q.list, 'before', first, owner)
  -- A Java client drops waiters at the head whose time is over: not later than the time of the first so far.
  local time = redis.call('zscore', q.scores, first)
  if time then
    redis.call('zadd', q.scores, 'xx', 'lt', time, owner)
  end
  local earliest = redis.call('zrange', q.arrivals, 0, 0, 'withscores')[2]
  if earliest then
    redis.call('zadd', q.arrivals, 'xx', tonumber(earliest) - 1, owner)
  end
end
