-- grant-to-first: gives a free lock to the first in line.
-- insert lock/give

-- Who stands directly behind the first in line and is of the same client, which may pass the lock on to them in this
-- order: their thread ids, each behind a comma.
local function behindFirst(q, client)
  local ids, prefix = '', client .. ':'
  local next = q.listed > 1 and redis.call('lindex', q.list, 1)
  -- With a process for each waiter it is somebody else: whoever comes then need not be looked at.
  if not next or string.sub(next, 1, #prefix) ~= prefix then return ids end
  for _, owner in ipairs(redis.call('lrange', q.list, 1, 31)) do
    if string.sub(owner, 1, #prefix) ~= prefix then break end
    ids = ids .. ',' .. string.sub(owner, #prefix + 1)
  end
  return ids
end

-- Whether nobody listens to the inbox of a client that listened once: it has died, or its connection has.
local function isDeaf(waiter, inboxes)
  if not string.find(waiter.marks or '', 'h', 1, true) then
    return false
  end
  -- pcall: a user whom Redis does not let ask takes nobody for dead.
  local heard = redis.pcall('pubsub', 'numsub', inboxOf(waiter.owner, inboxes))
  return not heard.err and heard[2] == 0
end

-- The first in line who is not deaf. Those in front of it are as dead as if their heartbeat was overdue: a client that
-- lives after all finds at its next heartbeat that its life has begun anew, and its waiters come back by their numbers.
-- Where nobody hears, nobody is taken for dead: the line keeps its order until somebody is back.
local function passOverDeaf(q, first, inboxes)
  local deaf = {}
  for place, owner in ipairs(redis.call('lrange', q.list, 0, 999)) do
    local waiter = waiterOf(q, owner)
    -- Waiters of ours live as long as their client; each Java thread has a time of its own.
    local who = waiter.marks and clientOf(owner) or owner
    if deaf[who] == nil then
      deaf[who] = waiter.untilMs <= q.now or isDeaf(waiter, inboxes)
    end
    if not deaf[who] then
      for _, before in ipairs(place > 1 and redis.call('lrange', q.list, 0, place - 2) or {}) do
        redis.call('hdel', q.heartbeats, clientOf(before))
        remove(q, before)
      end
      return waiter
    end
  end
  return first
end

-- Who is to be called up: the first in line, unless nobody listens to its inbox any more. Looked for once in a script.
local function firstWhoHears(q, first, inboxes)
  if not q.hears then
    q.hears = isDeaf(first, inboxes) and passOverDeaf(q, first, inboxes) or first
  end
  return q.hears
end

-- Returns how many ms it has from now whom we told, where others stand in line behind it: should it be dead or stopped,
-- they might hear of nothing. 0 for a Java client, whom nobody of ours takes for dead before Redisson does.
-- A Java waiter hears on its own channel that it may try; a client that does not use what it is given lets its waiters
-- try as well.
-- So does one that speaks another protocol: it has no nonce that we could read.
-- unlock: Redisson's channel; publish: PUBLISH or SPUBLISH on it.
local function grantToFirst(q, lock, first, inboxes, unlock, publish)
  first = firstWhoHears(q, first, inboxes)
  local owner, marks = first.owner, first.marks
  local aliveMs = marks and math.max(1, math.ceil(first.untilMs - q.now)) or 0
  local nonce = nonceIn(marks)
  local inbox = inboxOf(owner, inboxes)
  if nonce and string.find(marks, 'g', 1, true) and string.find(owner, '^[^:]+:%d+$') then
    local passesOn = string.find(marks, 'p', 1, true)
    give(lock, owner, first.untilMs, inbox, nonce, passesOn and behindFirst(q, clientOf(owner)))
    remove(q, owner)
    return q.listed > 0 and aliveMs or 0
  end
  -- It has come at a far place, perhaps, and got the patience of all before it: now its own is left.
  redis.call('zadd', q.scores, 'xx', 'lt', q.now + q.patience, owner)
  if marks then
    redis.call('publish', inbox, (nonce and '2:' or '') .. 'turn:' .. owner)
  else
    redis.call(publish, unlock .. ':' .. owner, '0')
  end
  return q.listed > 1 and aliveMs or 0
end
