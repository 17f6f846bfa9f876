-- grant-to-first: gives a free lock to the first in line of those who are given it, or leaves it to whoever comes first.
-- insert lock/line
-- insert lock/give

-- The first who is alive, and until when. The dead before it go, and what no client of ours has put there.
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

-- Returns for how many ms it did, nil when it did not.
local function grantToFirst(line, lock, publish, channel, exempt, inboxPrefix)
  local time = redis.call('time')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local first, untilMs = firstAlive(line, now)
  if not first or endAfterSetBack(line, now) then
    return nil
  end
  -- None where its client speaks another protocol: it is told what everybody is told, and tries.
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
