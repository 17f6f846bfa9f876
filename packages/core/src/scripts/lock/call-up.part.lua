-- call-up: gives a free lock to the first in line of those who are given it, or leaves it to whoever comes first.
-- insert lock/line
-- insert lock/give
local function firstOf(line)
  return redis.call('zrangebyscore', line, 0, '+inf', 'limit', 0, 1)[1]
end

-- The first who is alive, and until when. The dead before it go.
local function firstAlive(line, now)
  local owner = firstOf(line)
  while owner do
    local untilMs = -tonumber(redis.call('zscore', line, LIFE .. owner) or 0)
    if untilMs > now then
      return owner, untilMs
    end
    leave(line, owner)
    owner = firstOf(line)
  end
end

-- Whether those who listen are those who stand in line, but for so many of the client that asks. Somebody more, a Java
-- client above all, would never be told of anything; where there is one less, somebody who stands there has died.
local function allStand(line, now, publish, channel, exempt)
  -- pcall: a user whom Redis does not let ask gives to nobody.
  local heard = redis.pcall('pubsub', publish == 'SPUBLISH' and 'shardnumsub' or 'numsub', channel)
  local standing = redis.call('zcount', line, '-inf', string.format('(%.0f', -now))
  return not heard.err and heard[2] == standing + exempt
end

-- Or is given for the first time.
local function wasLeftFreeLately(line, now)
  local leftFree = -tonumber(redis.call('zscore', line, LEFT_FREE) or -now)
  return leftFree > now - LONGEST_GIVING_MS
end

-- Returns whether it did.
local function giveToFirst(line, lock, publish, channel, exempt, inboxPrefix)
  local now = math.floor(micros() / 1000)
  local first, untilMs = firstAlive(line, now)
  if not first then
    return false
  end
  if allStand(line, now, publish, channel, exempt) and wasLeftFreeLately(line, now) then
    redis.call('zadd', line, 'nx', string.format('%.0f', -now), LEFT_FREE)
    give(lock, first, untilMs, inboxPrefix)
    leave(line, first)
    return true
  end
  redis.call('zadd', line, string.format('%.0f', -now), LEFT_FREE)
  return false
end
