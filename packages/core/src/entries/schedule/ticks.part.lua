-- ticks: the noted ticks of a schedule, by number, and how one is noted.
local function ticksAt(key)
  local ticks = {}
  local kept = redis.call('hgetall', key)
  for i = 1, #kept, 2 do
    ticks[tonumber(kept[i])] = cjson.decode(kept[i + 1])
  end
  return ticks
end

-- insert clock

-- Beyond 2^53 nothing is noted: a tick is a number of milliseconds.
local function asText(number)
  return string.format('%.0f', number)
end

-- Otherwise one wrong tick, in microseconds or by a clock that is days ahead, would make all others late for good.
local function isTooFarAhead(tick, now)
  return tick > now + 3600000
end

-- The oldest are deleted: a schedule of every second must not fill the server.
local function note(key, tick, entry, limits)
  redis.call('hset', key, asText(tick), cjson.encode(entry))
  redis.call('pexpire', key, limits.ttl)
  if redis.call('hlen', key) > tonumber(limits.most) then
    local oldest = tick
    for _, field in ipairs(redis.call('hkeys', key)) do
      oldest = math.min(oldest, tonumber(field))
    end
    redis.call('hdel', key, asText(oldest))
  end
end
