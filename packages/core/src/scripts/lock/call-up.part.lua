-- call-up: gives a free lock to the first in line of those who are given it, or leaves it to whoever comes first.
-- insert lock/line
-- insert lock/give
local function firstOf(line)
  return redis.call('zrangebyscore', line, 0, '+inf', 'limit', 0, 1)[1]
end

-- The first who is alive, and until when. The dead before it go, and what no client of ours has put there.
local function firstAlive(line, now)
  local owner = firstOf(line)
  while owner do
    local untilMs = -tonumber(redis.call('zscore', line, LIFE .. owner) or 0)
    if untilMs > now and untilMs <= now + LONGEST_LIFE_MS and isOwner(owner) then
      return owner, untilMs
    end
    leave(line, owner)
    owner = firstOf(line)
  end
end

-- Nil for a client that speaks another protocol: it is told what everybody is told, and tries.
local function nonceOf(line, owner)
  return string.match(redis.call('zscore', line, NONCE .. owner) or '', '^-(%d+)$')
end

-- Whether those who listen are those who stand in line, but for so many of the client that asks. Somebody more, a Java
-- client above all, would never be told of anything; where there is one less, somebody who stands there has died. Both at
-- once look like neither: so the client that is to be given the lock has to listen to its inbox as well. On a cluster,
-- where messages are sharded, nobody can tell that: an inbox may be heard at any node.
local function allStand(line, now, publish, channel, exempt, inbox)
  -- pcall: a user whom Redis does not let ask gives to nobody.
  local heard = publish == 'SPUBLISH' and redis.pcall('pubsub', 'shardnumsub', channel)
    or redis.pcall('pubsub', 'numsub', channel, inbox)
  local standing = redis.call('zcount', line, string.format('%.0f', -now - LONGEST_LIFE_MS), string.format('(%.0f', -now))
  return not heard.err and heard[2] == standing + exempt and heard[4] ~= 0
end

-- Or is given for the first time.
local function wasLeftFreeLately(line, now)
  local leftFree = -tonumber(redis.call('zscore', line, LEFT_FREE) or -now)
  return leftFree > now - LONGEST_GIVING_MS and leftFree <= now
end

-- Returns for how many ms it did, nil when it did not.
local function giveToFirst(line, lock, publish, channel, exempt, inboxPrefix)
  local now = math.floor(micros() / 1000)
  local first, untilMs = firstAlive(line, now)
  if not first then
    return nil
  end
  if endAfterSetBack(line, now) then
    return nil
  end
  local nonce = nonceOf(line, first)
  local isHeard = nonce and allStand(line, now, publish, channel, exempt, inboxOf(first, inboxPrefix))
  if isHeard and wasLeftFreeLately(line, now) then
    redis.call('zadd', line, 'nx', string.format('%.0f', -now), LEFT_FREE)
    give(lock, first, untilMs, inboxPrefix, nonce)
    leave(line, first)
    return untilMs - now
  end
  redis.call('zadd', line, string.format('%.0f', -now), LEFT_FREE)
  return nil
end
