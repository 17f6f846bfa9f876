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

-- How many more connections listen to the channel than waiters stand in line, apart from those of the calling client; nil
-- if somebody is missing, who stands in line and has died, or if nobody knows. An extra listener, usually a Java client,
-- would never be notified of a grant. One missing and one extra cancel out: so the client that is to get the lock must
-- listen to its inbox as well. On a cluster with sharded messages this cannot be checked: an inbox may be listened to at
-- any node.
local function extraListeners(line, now, command, channel, exempt, inbox)
  -- pcall: a user without the permission for PUBSUB NUMSUB makes no grants.
  local heard = command == 'SPUBLISH' and redis.pcall('pubsub', 'shardnumsub', channel)
    or redis.pcall('pubsub', 'numsub', channel, inbox)
  local standing = redis.call('zcount', line, string.format('%.0f', -now - LONGEST_LIFE_MS), string.format('(%.0f', -now))
  local extra = not heard.err and heard[4] ~= 0 and heard[2] - standing - exempt or -1
  return extra >= 0 and extra or nil
end

-- Whether it is the turn of the first in line. Whoever stood there when the lock was last left free gets a turn before it
-- is left free again: that is a round. Those who came later get theirs for LONGEST_GIVING_MS, where nobody else listens.
local function isTurnOfFirst(line, now, extra)
  local mark = redis.call('zscore', line, 'left-free')
  if not mark then
    return extra == 0
  end
  local leftFree = -tonumber(mark)
  if leftFree > now then
    return false
  end
  return extra == 0 and leftFree > now - LONGEST_GIVING_MS
    or redis.call('zcount', line, 0, string.format('(%.0f', leftFree * 1000)) > 0
end

-- Returns for how many ms the lock was granted, nil when it was not. exempt: as for the release; nil grants nothing.
local function grantToFirst(line, lock, command, channel, exempt, inboxPrefix)
  local time = redis.call('time')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local first, untilMs = firstAlive(line, now)
  if not first or endAfterSetBack(line, now) then
    -- Nobody waits, and everybody may come: what was given before was the end of a chain.
    redis.call('del', line)
    return nil
  end
  -- No nonce if its client speaks another protocol: it gets the message for all, and tries.
  local nonce = string.match(redis.call('zscore', line, '2:' .. first) or '', '^-(%d+)$')
  local inbox = inboxOf(first, inboxPrefix)
  local extra = nonce and exempt and extraListeners(line, now, command, channel, exempt, inbox)
  if extra and isTurnOfFirst(line, now, extra) then
    redis.call('zadd', line, 'nx', string.format('%.0f', -now), 'left-free')
    if give(lock, first, untilMs, inbox, nonce) then
      leave(line, first)
      return untilMs - now
    end
  end
  redis.call('zadd', line, string.format('%.0f', -now), 'left-free')
  -- The lowest score is the longest life. If all who stand here are dead, and nobody comes, nothing else would end the line;
  -- whoever comes or takes the lock makes it last longer again.
  local longestMs = -tonumber(redis.call('zrange', line, 0, 0, 'withscores')[2]) - now
  redis.call('pexpire', line, math.max(1, math.min(longestMs, LONGEST_LIFE_MS)))
  return nil
end
