-- head: the first waiter in the queue, and what is left behind of it.
-- insert fair-lock/repair
-- Until when a waiter counts as alive. For a Holdfast waiter the heartbeat of its client tells, which also gives the marks;
-- for a Java waiter Redisson's time does.
local function waiterOf(q, owner, isOurs)
  if isOurs or redis.call('zscore', q.arrivals, owner) then
    local untilMs, since, marks = livenessOf(q, clientOf(owner))
    return { owner = owner, untilMs = untilMs, since = since, marks = marks }
  end
  return { owner = owner, untilMs = tonumber(redis.call('zscore', q.scores, owner) or 0) }
end

-- The first waiter that is alive; nil if the queue is empty, or the first is not known yet. Removes dead ones before it.
local function head(q)
  local earliest = redis.call('zrange', q.arrivals, 0, 0)[1]
  local owner = redis.call('lindex', q.list, 0)
  if isBroken(q, earliest, owner) then
    rebuild(q)
    owner = redis.call('lindex', q.list, 0)
    earliest = redis.call('zrange', q.arrivals, 0, 0)[1]
  end
  while owner do
    local first = waiterOf(q, owner, owner == earliest)
    if first.untilMs > q.now then
      return rejoinsUntil(q) == 0 and first or nil
    end
    remove(q, owner)
    owner = redis.call('lindex', q.list, 0)
  end
end

-- Comes last. Holdfast's keys are deleted with the last Holdfast waiter, or expire some time after the last heartbeat. So
-- do the list and the times, or waiters that died at the end of the queue would leave them for ever; but while a Java
-- client is in the queue they have no end, because Redisson gives them none.
local function tidy(q)
  local hasRedissonWaiters = redissonWaiters(q) > 0
  if hasRedissonWaiters then
    redis.call('persist', q.list)
    redis.call('persist', q.scores)
  end
  -- One key stands for all: without it none of the others exists, and none was created while it had its end already.
  local key = hasRedissonWaiters and q.heartbeats or q.list
  local keepMs = q.keepMs or q.isRebuilt and 2 * q.patience
  if q.ours == 0 and rejoinsUntil(q) == 0 then
    redis.call('del', q.heartbeats)
  elseif keepMs and (q.isRebuilt or redis.call('pttl', key) < 0.75 * keepMs) then
    redis.call('pexpire', q.arrivals, keepMs)
    redis.call('pexpire', q.heartbeats, keepMs)
    if not hasRedissonWaiters then
      redis.call('pexpire', q.list, keepMs)
      redis.call('pexpire', q.scores, keepMs)
    end
  end
end
