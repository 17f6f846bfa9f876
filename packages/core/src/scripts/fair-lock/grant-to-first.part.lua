-- grant-to-first: grants a free lock to the first in the queue.
-- insert publish
-- insert lock/grant

-- The waiters directly behind the first in the queue that belong to the same client, which may pass the lock to them in this
-- order: their thread ids, each behind a comma.
local function behindFirst(q, client)
  local ids, prefix = '', client .. ':'
  local next = q.listed > 1 and redis.call('lindex', q.list, 1)
  -- With one process per waiter the next belongs to another client: then the rest need not be read.
  if not next or string.sub(next, 1, #prefix) ~= prefix then return ids end
  for _, owner in ipairs(redis.call('lrange', q.list, 1, 31)) do
    if string.sub(owner, 1, #prefix) ~= prefix then break end
    ids = ids .. ',' .. string.sub(owner, #prefix + 1)
  end
  return ids
end

-- Whether the inbox of a client that once listened has no listener: the client has died, or its connection has.
local function isUnsubscribed(waiter, inboxes)
  if not string.find(waiter.marks or '', 'h', 1, true) then
    return false
  end
  -- pcall: a user without the permission for PUBSUB NUMSUB takes no client for dead.
  local heard = redis.pcall('pubsub', 'numsub', inboxOf(waiter.owner, inboxes))
  return not heard.err and heard[2] == 0
end

-- Whether a client that counts as alive may not be back yet after an outage: it was not heard since, or the server began
-- during its window, and not longer than one ago, in whole seconds, as Redis tells it.
local function isAwaited(q, waiter)
  if waiter.untilMs <= q.now then return false end
  if string.find(waiter.marks or '', 's', 1, true) then return true end
  -- pcall: a user may lack INFO.
  local server = waiter.since and redis.pcall('info', 'server')
  local seconds = type(server) == 'string' and tonumber(string.match(server, 'uptime_in_seconds:(%d+)'))
  return seconds and seconds * 1000 <= (q.span or GRACE_MS)
    and math.floor(q.now / 1000) - seconds > math.floor(waiter.since / 1000)
end

-- The first waiter in the queue whose client listens. Waiters before it count as dead, as if their heartbeat was overdue: a
-- client that is alive after all learns at its next heartbeat that its window has begun anew, and its waiters return by
-- their numbers. If no client listens, or one is awaited after an outage, none is taken for dead: the queue keeps its order
-- until that one is back, or its window is over.
local function passOverUnsubscribed(q, first, inboxes)
  local unsubscribed = {}
  for place, owner in ipairs(redis.call('lrange', q.list, 0, 999)) do
    local waiter = waiterOf(q, owner)
    -- Holdfast's waiters live as long as their client; each Java thread has its own time.
    local who = waiter.marks and clientOf(owner) or owner
    if unsubscribed[who] == nil then
      unsubscribed[who] = waiter.untilMs <= q.now or isUnsubscribed(waiter, inboxes)
      if unsubscribed[who] and isAwaited(q, waiter) then break end
    end
    if not unsubscribed[who] then
      for _, before in ipairs(place > 1 and redis.call('lrange', q.list, 0, place - 2) or {}) do
        redis.call('hdel', q.heartbeats, clientOf(before))
        remove(q, before)
      end
      return waiter
    end
  end
  return first
end

-- The waiter to notify: the first in the queue whose inbox still has a listener. Determined once per script.
local function firstSubscribed(q, first, inboxes)
  if not q.notified then
    q.notified = isUnsubscribed(first, inboxes) and passOverUnsubscribed(q, first, inboxes) or first
  end
  return q.notified
end

-- Returns for how many ms the notified waiter may use the lock, if others are in the queue behind it: if it is dead or stopped,
-- they might get no message. 0 for a Java client, which Holdfast does not take for dead before Redisson does.
-- A Java waiter gets a message on its own channel, and tries. So does a waiter whose client does not use grants, or speaks
-- another protocol: its nonce cannot be read.
-- unlock: Redisson's channel; command: PUBLISH or SPUBLISH on it.
local function grantToFirst(q, lock, first, inboxes, unlock, command)
  first = firstSubscribed(q, first, inboxes)
  local owner, marks = first.owner, first.marks
  local aliveMs = marks and math.max(1, math.ceil(first.untilMs - q.now)) or 0
  local nonce = nonceIn(marks)
  local inbox = inboxOf(owner, inboxes)
  if nonce and string.find(marks, 'g', 1, true) and string.find(owner, '^[^:]+:%d+$') then
    local passesOn = string.find(marks, 'p', 1, true)
    if grant(lock, owner, first.untilMs, inbox, nonce, passesOn and behindFirst(q, clientOf(owner))) then
      remove(q, owner)
      return q.listed > 0 and aliveMs or 0
    end
  end
  -- It may have joined far back, with the patience of all before it: now only its own patience counts.
  redis.call('zadd', q.scores, 'xx', 'lt', q.now + q.patience, owner)
  if marks then
    publish('publish', inbox, (nonce and '2:' or '') .. 'turn:' .. owner)
  else
    publish(command, unlock .. ':' .. owner, '0')
  end
  return q.listed > 1 and aliveMs or 0
end
