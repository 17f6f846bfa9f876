-- grant-to-first: grants a free lock to the first waiter in line, or leaves it free for all.
-- insert lock/line
-- insert lock/give

-- The first waiter that is alive, and until when. Dead waiters before it are removed, and so are foreign members.
local function firstAlive(line, now)
  while true do
    local owner = redis.call('zrangebyscore', line, 0, '+inf', 'limit', 0, 1)[1]
    local untilMs = owner and -tonumber(redis.call('zscore', line, 'alive:' .. owner) or 0)
    if not owner or untilMs > now and untilMs <= now + LONGEST_LIFE_MS and string.find(owner, '^[^:]+:%d+$') then
      return owner, untilMs
    end
    leave(line, owner)
  end
end

-- Whether the number of listeners equals the number of waiters in line, apart from the connections of the calling client.
-- An extra listener, usually a Java client, would never be notified of a grant; a missing one means that a waiter in line
-- has died. Both at once cancel out: so the client that is to get the lock must listen to its inbox as well. On a cluster
-- with sharded messages this cannot be checked: an inbox may be listened to at any node.
local function allStand(line, now, publish, channel, exempt, inbox)
  -- pcall: a user without the permission for PUBSUB NUMSUB makes no grants.
  local heard = publish == 'SPUBLISH' and redis.pcall('pubsub', 'shardnumsub', channel)
    or redis.pcall('pubsub', 'numsub', channel, inbox)
  local standing = redis.call('zcount', line, string.format('%.0f', -now - LONGEST_LIFE_MS), string.format('(%.0f', -now))
  return not heard.err and heard[2] == standing + exempt and heard[4] ~= 0
end

-- Returns for how many ms the lock was granted, nil when it was not.
local function grantToFirst(line, lock, publish, channel, exempt, inboxPrefix)
  local time = redis.call('time')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local first, untilMs = firstAlive(line, now)
  if not first or endAfterSetBack(line, now) then
    return nil
  end
  -- No nonce if its client speaks another protocol: it gets the message for all, and tries.
  local nonce = string.match(redis.call('zscore', line, '2:' .. first) or '', '^-(%d+)$')
  local inbox = inboxOf(first, inboxPrefix)
  if nonce and allStand(line, now, publish, channel, exempt, inbox) then
    local leftFree = -tonumber(redis.call('zscore', line, 'left-free') or -now)
    -- Lately, or it is given for the first time.
    if leftFree > now - LONGEST_GIVING_MS and leftFree <= now then
      redis.call('zadd', line, 'nx', string.format('%.0f', -now), 'left-free')
      give(lock, first, untilMs, inbox, nonce)
      leave(line, first)
      return untilMs - now
    end
  end
  redis.call('zadd', line, string.format('%.0f', -now), 'left-free')
  return nil
end
