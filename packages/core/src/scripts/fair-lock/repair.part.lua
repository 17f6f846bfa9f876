-- repair: the queue anew from what is left of it.
-- insert fair-lock/liveness
-- Makes every client rejoin with each of its waiters: its next heartbeat returns a new beginning.
local function askClientsToRejoin(q)
  q.isUnknown = true
  for _, client in ipairs(redis.call('hkeys', q.heartbeats)) do
    if not string.find(client, ':', 1, true) then
      local untilMs, _, marks = parseLiveness(redis.call('hget', q.heartbeats, client))
      redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f %s', untilMs, q.now, marks))
    end
  end
end

-- No key that is left knows Holdfast's waiters. Their clients know the order of arrival, and report it with their next
-- heartbeat. Until then no waiter is the first: the one that returns soonest would overtake the others. Once, and not
-- again for callers that have left.
local function awaitRejoins(q)
  rejoinsUntil(q)
  if q.awaits == 0 and (q.heard or q.isBack) then
    q.awaits = math.ceil(q.now + 0.55 * (tonumber(q.span) or GRACE_MS))
    redis.call('hset', q.heartbeats, ':awaits', q.awaits, ':heard', q.now)
    q.isRebuilt = true
    askClientsToRejoin(q)
  end
end

-- All waiters in any of the keys, in order. The list keeps its order. Holdfast's waiters that are missing in it go before
-- the next later arrival, or else to the front: Java clients look at the head only and drop waiters there, and a waiter
-- that arrived after the list was lost is behind them. Others go by their times.
local function mergedOrder(q, ours, timeOf)
  local order, isThere = {}, {}
  for _, owner in ipairs(redis.call('lrange', q.list, 0, -1)) do
    -- Once: a Java client whose time was lost joins the list again. When it left, its second entry would stay, and the list
    -- would have more entries than there are times, for ever.
    if not isThere[owner] then order[#order + 1] = owner end
    isThere[owner] = true
  end
  local place = 1
  for i = #ours, 1, -1 do
    if isThere[ours[i]] then
      for at, owner in ipairs(order) do
        if owner == ours[i] then place = at break end
      end
    else
      table.insert(order, place, ours[i])
      isThere[ours[i]] = true
    end
  end
  for _, owner in ipairs(redis.call('zrange', q.scores, 0, -1)) do
    local at = 1
    while not isThere[owner] and order[at] and (timeOf[order[at]] or 0) <= timeOf[owner] do
      at = at + 1
    end
    if not isThere[owner] then table.insert(order, at, owner) end
  end
  return order
end

-- Holdfast's client ids have the random part behind a `~`; Redisson's are UUIDs.
local function isOurs(owner)
  return string.find(owner, '~', 1, true) ~= nil
end

-- Redis has lost a part of the queue (a key was deleted or evicted), or a Java client that took the lock has lowered all
-- times, and the next one dropped live Holdfast waiters from the head. What is missing is rebuilt from the rest. Holdfast
-- waiters without a number get new ones in their order, and soon report their own.
local function rebuild(q)
  local ours, timeOf, numberOf = redis.call('zrange', q.arrivals, 0, -1, 'withscores'), {}, {}
  local owners = {}
  for i = 1, #ours, 2 do
    owners[#owners + 1] = ours[i]
    numberOf[ours[i]] = tonumber(ours[i + 1])
  end
  local times = redis.call('zrange', q.scores, 0, -1, 'withscores')
  for i = 1, #times, 2 do
    timeOf[times[i]] = tonumber(times[i + 1])
  end
  local order = mergedOrder(q, owners, timeOf)
  -- A Java client without a time, where others have one, is broken, and skipped.
  local areTimesLost = #times == 0 and (q.ours > 0 or q.isSure)
  redis.call('del', q.list)
  local time, number, isNumberLost = q.now + q.patience, 0, false
  for _, owner in ipairs(order) do
    redis.call('rpush', q.list, owner)
    if not timeOf[owner] and (areTimesLost or isOurs(owner)) then redis.call('zadd', q.scores, time, owner) end
    time = math.max(time, timeOf[owner] or 0)
    if not numberOf[owner] and isOurs(owner) then
      redis.call('zadd', q.arrivals, number + 1, owner)
      numberOf[owner], isNumberLost = number + 1, true
      grantGracePeriod(q, clientOf(owner))
    end
    number = numberOf[owner] or number
  end
  q.listed, q.ours = #order, redis.call('zcard', q.arrivals)
  q.isRebuilt = q.isRebuilt or #order > 0
  if isNumberLost then askClientsToRejoin(q) end
  if q.ours == 0 then awaitRejoins(q) end
end

-- Whether a waiter is in one of the keys and missing in another.
local function isBroken(q, earliest, owner)
  if redis.call('zcard', q.scores) ~= q.listed then
    return true
  end
  if earliest then
    return owner ~= earliest and not redis.call('zscore', q.scores, earliest)
  end
  -- Heartbeats are deleted with the last Holdfast waiter.
  return q.hadOurs == 0 and (q.isSure or redis.call('exists', q.heartbeats) == 1)
end
