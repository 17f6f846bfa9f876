-- queue: the line of a fair lock's waiters.
-- It has Redisson's format: a list of owners, and the times after which Java clients drop each from the head. Holdfast's
-- waiters are also in `arrivals`, with their arrival numbers. `heartbeats` has two times of Redis for each client: until
-- when it counts as alive, and since when without a gap. No client id contains a colon, so the same hash can keep three
-- fields of its own: `:heard`, when a script last checked which clients are alive; `:span`, how long the last heartbeat
-- counts; `:awaits`, until when the line waits for waiters that Redis has lost, see `rebuild`.
-- q    { list, scores, arrivals, heartbeats: keys; now: ms; patience: ms that Redisson gives each waiter;
--        listed, ours: number of entries in the list, and in arrivals; hadOurs: `ours` when the script began;
--        keepMs: how long Holdfast's keys live from now, set once a client is alive; heard, span, awaits: those three
--        fields, nil until the script has read them; isSure: a Holdfast waiter that was in line before asks; isBack: and
--        still waits; isRebuilt: keys were created, and have no time to live yet; isUnknown: clients must rejoin with
--        their arrival numbers; hears: the waiter to grant the lock to, once the script has determined it }
-- insert clock
-- insert lock/give
local function lineAt(list, scores, arrivals, heartbeats, patience)
  local q = { list = list, scores = scores, arrivals = arrivals, heartbeats = heartbeats }
  q.now, q.patience = clock(), tonumber(patience)
  q.listed, q.ours = redis.call('llen', q.list), redis.call('zcard', q.arrivals)
  q.hadOurs = q.ours
  return q
end

local function clientOf(owner)
  return string.match(owner, '^(.*):') or owner
end

-- Until when a client counts as alive, since when without a gap, and its marks: `s` it had its grace period, see `listen`;
-- `g` it accepts grants; `p` it also hands a granted lock over along the line; `h` it listens to its inbox at this
-- server. Clients of a cluster may listen at any node, and do not set `h`.
local function lifeIn(text)
  local untilMs, since, marks = string.match(text or '', '^(%d+) (%d+) ?(.*)$')
  return tonumber(untilMs or 0), tonumber(since or 0), marks or ''
end

-- The nonce of a client, behind the protocol number. Hexadecimal, so that it contains none of the marks.
local function nonceIn(marks)
  return string.match(marks or '', '2:(%x+)')
end

-- If no client was heard for longer than the interval of heartbeats, Redis was unavailable. Each client that was alive
-- before gets one grace period for a heartbeat; a client that does not use it is dead. Returns whether this was so.
local function listen(q, heard, span)
  local wasDeaf = q.now - heard > 0.6 * span
  if wasDeaf then
    for _, client in ipairs(redis.call('hkeys', q.heartbeats)) do
      local untilMs, since, marks = lifeIn(redis.call('hget', q.heartbeats, client))
      if untilMs > heard and untilMs < q.now + span and not string.find(marks, 's', 1, true) then
        redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f %ss', q.now + span, since, marks))
      end
    end
  end
  -- Only from time to time: a write costs more than a read, and goes to the replicas.
  if q.now - heard > 0.02 * span then
    redis.call('hset', q.heartbeats, ':heard', q.now)
  end
  return wasDeaf
end

-- A client whose heartbeat Redis has lost gets a grace period. Its waiters rejoin with the next heartbeat.
local SPARED_MS = 2000
local function spare(q, client)
  if redis.call('hexists', q.heartbeats, client) == 0 then
    local untilMs = q.now + (tonumber(q.span) or SPARED_MS)
    redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f s', untilMs, q.now), ':heard', q.now)
    q.isRebuilt = true
  end
end

-- The clock was set back since the last check, or another server has the data. Times from before are too far ahead by
-- that much: each client keeps the time that it had left then, or a dead one would count as alive for longer.
local function setBack(q, heard, awaits)
  local by = heard - q.now
  for _, client in ipairs(redis.call('hkeys', q.heartbeats)) do
    if not string.find(client, ':', 1, true) then
      local untilMs, since, marks = lifeIn(redis.call('hget', q.heartbeats, client))
      redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f %s', math.max(0, untilMs - by), since, marks))
    end
  end
  redis.call('hset', q.heartbeats, ':heard', q.now, ':awaits', math.max(0, (tonumber(awaits) or 0) - by))
end

-- Reads the hash's own three fields into q, once per script, and returns the field of a client.
local function ask(q, client)
  local heard, span, awaits, life = unpack(redis.call('hmget', q.heartbeats, ':heard', ':span', ':awaits', client))
  -- Values that are not numbers count as missing.
  q.heard, q.span, q.awaits = tonumber(heard) or false, tonumber(span) or q.span, tonumber(awaits) or 0
  if q.heard and q.heard > q.now then
    setBack(q, q.heard, awaits)
    return ask(q, client)
  end
  if q.awaits > q.now + 10 * (q.span or SPARED_MS) then q.awaits = 0 end
  return life
end

-- As `lifeIn`. A client that claims a longer life than allowed counts as dead. Its entry is deleted, so its next heartbeat
-- begins another life, and its waiters return to the places that they lost meanwhile.
local function possibleLife(q, client, text)
  local untilMs, since, marks = lifeIn(text)
  if untilMs > q.now + LONGEST_LIFE_MS then
    redis.call('hdel', q.heartbeats, client)
    untilMs = 0
  end
  return untilMs, since, marks
end

-- As `lifeIn`, of a client. The first life that a script reads also determines when a client was last heard.
local function lifeOf(q, client)
  if q.heard ~= nil then
    return possibleLife(q, client, redis.call('hget', q.heartbeats, client))
  end
  local life = ask(q, client)
  if q.heard and listen(q, q.heard, q.span or SPARED_MS) then
    return lifeOf(q, client)
  end
  if not q.heard and q.ours > 0 then
    for _, owner in ipairs(redis.call('zrange', q.arrivals, 0, -1)) do
      spare(q, clientOf(owner))
    end
    return lifeOf(q, client)
  end
  return possibleLife(q, client, life)
end

-- A client asks, and so is alive. Returns since when without a gap, until when it counts as alive, and for how many ms. A
-- client that sees another beginning than before may have counted as dead meanwhile, with its waiters removed from the
-- line. Clients that ask often extend their time only now and then, which saves a write.
local function lives(q, client, forMs, marks)
  q.span = forMs
  local untilMs, since, before = lifeOf(q, client)
  local left = untilMs - q.now
  q.keepMs = 2 * math.max(forMs, q.patience)
  if left > 0.94 * forMs and left <= forMs and before == marks then
    return since, untilMs, left
  end
  since = left > 0 and since or q.now
  untilMs = q.now + forMs
  redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f %s', untilMs, since, marks),
    ':heard', q.now, ':span', forMs)
  return since, untilMs, forMs
end

local function remove(q, owner)
  q.listed = q.listed - redis.call('lrem', q.list, 1, owner)
  redis.call('zrem', q.scores, owner)
  q.ours = q.ours - redis.call('zrem', q.arrivals, owner)
end

local function redissonWaiters(q)
  return q.listed - q.ours
end

-- Until when a waiter counts as alive. For a Holdfast waiter the heartbeat of its client tells, which also gives the marks;
-- for a Java waiter Redisson's time does.
local function waiterOf(q, owner, isOurs)
  if isOurs or redis.call('zscore', q.arrivals, owner) then
    local untilMs, since, marks = lifeOf(q, clientOf(owner))
    return { owner = owner, untilMs = untilMs, since = since, marks = marks }
  end
  return { owner = owner, untilMs = tonumber(redis.call('zscore', q.scores, owner) or 0) }
end

-- Makes every client rejoin with each of its waiters: its next heartbeat returns a new beginning.
local function callBack(q)
  q.isUnknown = true
  for _, client in ipairs(redis.call('hkeys', q.heartbeats)) do
    if not string.find(client, ':', 1, true) then
      local untilMs, _, marks = lifeIn(redis.call('hget', q.heartbeats, client))
      redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f %s', untilMs, q.now, marks))
    end
  end
end

-- Until when the line waits for lost waiters, 0 when it does not.
local function awaits(q)
  if q.heard == nil then
    ask(q, '')
  end
  return q.awaits > q.now and q.awaits or 0
end

-- No key that is left knows Holdfast's waiters. Their clients know the order of arrival, and report it with their next
-- heartbeat. Until then no waiter is the first: the one that returns soonest would overtake the others. Once, and not
-- again for callers that have left.
local function awaitOurs(q)
  awaits(q)
  if q.awaits == 0 and (q.heard or q.isBack) then
    q.awaits = math.ceil(q.now + 0.55 * (tonumber(q.span) or SPARED_MS))
    redis.call('hset', q.heartbeats, ':awaits', q.awaits, ':heard', q.now)
    q.isRebuilt = true
    callBack(q)
  end
end

-- All waiters in any of the keys, in order. The list keeps its order. Holdfast's waiters that are missing in it go before
-- the next later arrival, or else to the front: Java clients look at the head only and drop waiters there, and a waiter
-- that arrived after the list was lost is behind them. Others go by their times.
local function everybody(q, ours, timeOf)
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

-- Redis has lost a part of the line (a key was deleted or evicted), or a Java client that took the lock has lowered all
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
  local order = everybody(q, owners, timeOf)
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
      spare(q, clientOf(owner))
    end
    number = numberOf[owner] or number
  end
  q.listed, q.ours = #order, redis.call('zcard', q.arrivals)
  q.isRebuilt = q.isRebuilt or #order > 0
  if isNumberLost then callBack(q) end
  if q.ours == 0 then awaitOurs(q) end
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

-- The first waiter that is alive; nil if the line is empty, or the first is not known yet. Removes dead ones before it.
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
      return awaits(q) == 0 and first or nil
    end
    remove(q, owner)
    owner = redis.call('lindex', q.list, 0)
  end
end

-- Work on the line that the lock does not depend on: a release succeeds even if a key of the line has another type.
-- Returns the result of the work, nil if it failed.
local function besideLock(work)
  local isDone, result = pcall(work)
  -- Redis's pcall gives text; since Redis 7 also for an error that was raised as a table.
  local failure = not isDone and (type(result) == 'table' and result.err or tostring(result))
  if failure and not string.find(failure, 'WRONGTYPE', 1, true) then
    -- Since 7 an error that is raised as text begins with ERR: the code of this one would be lost.
    error(redis.REDIS_VERSION_NUM and { err = failure } or result, 0)
  end
  return isDone and result or nil
end

-- Comes last. Holdfast's keys are deleted with the last Holdfast waiter, or expire some time after the last heartbeat. So
-- do the list and the times, or waiters that died at the end of the line would leave them for ever; but while a Java
-- client is in line they have no end, because Redisson gives them none.
local function tidy(q)
  local hasRedissonWaiters = redissonWaiters(q) > 0
  if hasRedissonWaiters then
    redis.call('persist', q.list)
    redis.call('persist', q.scores)
  end
  -- One key stands for all: without it none of the others exists, and none was created while it had its end already.
  local key = hasRedissonWaiters and q.heartbeats or q.list
  local keepMs = q.keepMs or q.isRebuilt and 2 * q.patience
  if q.ours == 0 and awaits(q) == 0 then
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
