-- liveness: which clients with waiters in the queue are alive.
-- insert fair-lock/queue
-- insert life
local GRACE_MS = 2000

-- Until when a client counts as alive, since when without a gap, and its marks: `s` it had its grace period, see `noticeOutage`;
-- `g` it accepts grants; `p` it also hands a granted lock over along the queue; `h` it listens to its inbox at this
-- server. Clients of a cluster may listen at any node, and do not set `h`.
local function parseLiveness(text)
  local untilMs, since, marks = string.match(text or '', '^(%d+) (%d+) ?(.*)$')
  return tonumber(untilMs or 0), tonumber(since or 0), marks or ''
end

-- The nonce of a client, behind the protocol number. Hexadecimal, so that it contains none of the marks.
local function nonceIn(marks)
  return string.match(marks or '', '2:(%x+)')
end

-- If no client was heard for longer than the interval of heartbeats, Redis was unavailable. Each client that was alive
-- before gets one grace period for a heartbeat; a client that does not use it is dead. Returns whether this was so.
local function noticeOutage(q, heard, span)
  local wasUnavailable = q.now - heard > 0.6 * span
  if wasUnavailable then
    for _, client in ipairs(redis.call('hkeys', q.heartbeats)) do
      local untilMs, since, marks = parseLiveness(redis.call('hget', q.heartbeats, client))
      if untilMs > heard and untilMs < q.now + span and not string.find(marks, 's', 1, true) then
        redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f %ss', q.now + span, since, marks))
      end
    end
  end
  -- Only from time to time: a write costs more than a read, and goes to the replicas.
  if q.now - heard > 0.02 * span then
    redis.call('hset', q.heartbeats, ':heard', q.now)
  end
  return wasUnavailable
end

-- A client whose heartbeat Redis has lost gets a grace period. Its waiters rejoin with the next heartbeat.
local function grantGracePeriod(q, client)
  if redis.call('hexists', q.heartbeats, client) == 0 then
    local untilMs = q.now + (tonumber(q.span) or GRACE_MS)
    redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f s', untilMs, q.now), ':heard', q.now)
    q.isRebuilt = true
  end
end

-- The clock was set back since the last check, or another server has the data. Times from before are too far ahead by
-- that much: each client keeps the time that it had left then, or a dead one would count as alive for longer.
local function shiftToEarlierClock(q, heard, awaits)
  local by = heard - q.now
  for _, client in ipairs(redis.call('hkeys', q.heartbeats)) do
    if not string.find(client, ':', 1, true) then
      local untilMs, since, marks = parseLiveness(redis.call('hget', q.heartbeats, client))
      redis.call('hset', q.heartbeats, client, string.format('%.0f %.0f %s', math.max(0, untilMs - by), since, marks))
    end
  end
  redis.call('hset', q.heartbeats, ':heard', q.now, ':awaits', math.max(0, (tonumber(awaits) or 0) - by))
end

-- Reads the hash's own three fields into q, once per script, and returns the field of a client.
local function readFields(q, client)
  local heard, span, awaits, liveness = unpack(redis.call('hmget', q.heartbeats, ':heard', ':span', ':awaits', client))
  -- Values that are not numbers count as missing.
  q.heard, q.span, q.awaits = tonumber(heard) or false, tonumber(span) or q.span, tonumber(awaits) or 0
  if q.heard and q.heard > q.now then
    shiftToEarlierClock(q, q.heard, awaits)
    return readFields(q, client)
  end
  if q.awaits > q.now + 10 * (q.span or GRACE_MS) then q.awaits = 0 end
  return liveness
end

-- As `parseLiveness`. A client that claims a longer window than allowed counts as dead. Its entry is deleted, so its next heartbeat
-- begins another window, and its waiters return to the places that they lost meanwhile.
local function plausibleLiveness(q, client, text)
  local untilMs, since, marks = parseLiveness(text)
  if untilMs > q.now + LONGEST_LIFE_MS then
    redis.call('hdel', q.heartbeats, client)
    untilMs = 0
  end
  return untilMs, since, marks
end

-- As `parseLiveness`, of a client. The first one that a script reads also determines when a client was last heard.
local function livenessOf(q, client)
  if q.heard ~= nil then
    return plausibleLiveness(q, client, redis.call('hget', q.heartbeats, client))
  end
  local liveness = readFields(q, client)
  if q.heard and noticeOutage(q, q.heard, q.span or GRACE_MS) then
    return livenessOf(q, client)
  end
  if not q.heard and q.ours > 0 then
    for _, owner in ipairs(redis.call('zrange', q.arrivals, 0, -1)) do
      grantGracePeriod(q, clientOf(owner))
    end
    return livenessOf(q, client)
  end
  return plausibleLiveness(q, client, liveness)
end

-- A client asks, and so is alive. Returns since when without a gap, until when it counts as alive, and for how many ms. A
-- client that sees another beginning than before may have counted as dead meanwhile, with its waiters removed from the
-- queue. Clients that ask often extend their time only now and then, which saves a write.
local function recordHeartbeat(q, client, forMs, marks)
  q.span = forMs
  local untilMs, since, before = livenessOf(q, client)
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

-- Until when the queue waits for lost waiters, 0 when it does not.
local function rejoinsUntil(q)
  if q.heard == nil then
    readFields(q, '')
  end
  return q.awaits > q.now and q.awaits or 0
end
