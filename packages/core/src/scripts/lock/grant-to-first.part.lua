-- grant-to-first: grants a free lock to the first waiter in the queue, or leaves it free for all.
-- insert lock/queue
-- insert lock/grant

-- The first waiter that is alive, and until when. Dead waiters before it are removed, and so are foreign members.
local function firstAlive(queue, now)
  while true do
    local owner = redis.call('zrangebyscore', queue, 0, '+inf', 'limit', 0, 1)[1]
    local untilMs = owner and -tonumber(redis.call('zscore', queue, 'alive:' .. owner) or 0)
    if not owner or untilMs > now and untilMs <= now + LONGEST_LIFE_MS and string.find(owner, '^[^:]+:%d+$') then
      return owner, untilMs
    end
    leave(queue, owner)
  end
end

-- How many more connections listen to the channel than waiters is queued, apart from those of the calling client; nil
-- if somebody is missing, who is queued and has died, or if nobody knows. An extra listener, usually a Java client,
-- would never be notified of a grant. One missing and one extra cancel out: so the client that is to get the lock must
-- listen to its inbox as well. On a cluster with sharded messages this cannot be checked: an inbox may be listened to at
-- any node.
local function extraListeners(queue, now, command, channel, exempt, inbox)
  -- pcall: a user without the permission for PUBSUB NUMSUB makes no grants.
  local heard = command == 'SPUBLISH' and redis.pcall('pubsub', 'shardnumsub', channel)
    or redis.pcall('pubsub', 'numsub', channel, inbox)
  local queued = redis.call('zcount', queue, string.format('%.0f', -now - LONGEST_LIFE_MS), string.format('(%.0f', -now))
  local extra = not heard.err and heard[4] ~= 0 and heard[2] - queued - exempt or -1
  return extra >= 0 and extra or nil
end

-- Whether the first in the queue may have it. Each waiter that was queued when the lock was last left free gets it once
-- before it is left free again: that is a round. Those who came later get it for LONGEST_GRANTING_MS, where nobody else listens.
local function mayGrantToFirst(queue, now, extra)
  local mark = redis.call('zscore', queue, 'left-free')
  if not mark then
    return extra == 0
  end
  local leftFree = -tonumber(mark)
  if leftFree > now then
    return false
  end
  return extra == 0 and leftFree > now - LONGEST_GRANTING_MS
    or redis.call('zcount', queue, 0, string.format('(%.0f', leftFree * 1000)) > 0
end

-- Returns for how many ms the lock was granted, nil when it was not. exempt: as for the release; nil grants nothing.
local function grantToFirst(queue, lock, command, channel, exempt, inboxPrefix)
  local time = redis.call('time')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local first, untilMs = firstAlive(queue, now)
  if not first or endAfterSetBack(queue, now) then
    -- Nobody waits, and everybody may come: the grant before was the last of a chain.
    redis.call('del', queue)
    return nil
  end
  -- No nonce if its client speaks another protocol: it gets the message for all, and tries.
  local nonce = string.match(redis.call('zscore', queue, '2:' .. first) or '', '^-(%d+)$')
  local inbox = inboxOf(first, inboxPrefix)
  local extra = nonce and exempt and extraListeners(queue, now, command, channel, exempt, inbox)
  if extra and mayGrantToFirst(queue, now, extra) then
    redis.call('zadd', queue, 'nx', string.format('%.0f', -now), 'left-free')
    if grant(lock, first, untilMs, inbox, nonce) then
      leave(queue, first)
      return untilMs - now
    end
  end
  redis.call('zadd', queue, string.format('%.0f', -now), 'left-free')
  -- The lowest score is the longest window. If all who are queued are dead, and nobody comes, nothing else would end the queue;
  -- whoever comes or takes the lock makes it last longer again.
  local longestMs = -tonumber(redis.call('zrange', queue, 0, 0, 'withscores')[2]) - now
  redis.call('pexpire', queue, math.max(1, math.min(longestMs, LONGEST_LIFE_MS)))
  return nil
end
