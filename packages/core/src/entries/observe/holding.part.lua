-- holding: the holders of one lock, since when they hold it, and its waiters.
-- pcall: a key beside the lock that has another type tells nothing about it.
-- insert lock/shape
-- insert life

local function numberOf(reply)
  return type(reply) == 'number' and reply or 0
end

-- The key may contain anything: an impossible time is reported as 0.
local function waitedMs(nowUs, since)
  local ms = math.floor((nowUs - tonumber(since)) / 1000)
  return ms > 0 and ms < 1e13 and ms or 0
end

-- The owner that a note is about, and for how many ms it has held the lock. A note of an earlier hold says nothing.
local function notedAt(key, lock, now)
  local text = redis.pcall('get', key)
  local at, owner = string.match(type(text) == 'string' and text or '', '^(%d+) %S+ (.+)$')
  if at and #at <= 15 and redis.call('hexists', lock, owner) == 1 then
    return owner, now - tonumber(at)
  end
  return '', ''
end

-- Both return how many wait, and the first of them in order, each with for how many ms it has waited.
local function waitersOfFairLock(q, nowUs, most)
  local told, count = {}, numberOf(redis.pcall('llen', q.list))
  for _, owner in ipairs(count > 0 and redis.call('lrange', q.list, 0, most - 1) or {}) do
    local arrival = redis.pcall('zscore', q.arrivals, owner)
    told[#told + 1] = owner
    told[#told + 1] = type(arrival) == 'string' and waitedMs(nowUs, arrival) or ''
  end
  return count, told
end

local function waitersOfPlainLock(queue, nowUs, most)
  local told, owners = {}, redis.pcall('zrangebyscore', queue, 0, '+inf', 'withscores', 'limit', 0, most)
  for i = 1, owners.err and 0 or #owners, 2 do
    -- A dead waiter stays in the queue until a release reaches it.
    local untilMs = -tonumber(redis.call('zscore', queue, 'alive:' .. owners[i]) or 0)
    if untilMs > nowUs / 1000 and untilMs <= nowUs / 1000 + LONGEST_LIFE_MS then
      told[#told + 1] = owners[i]
      told[#told + 1] = waitedMs(nowUs, owners[i + 1])
    end
  end
  return #told / 2, told
end

-- Redis does not store when they arrived.
local function waitingWriters(writers, now, most)
  local told, owners = {}, redis.pcall('zrangebyscore', writers, now, now + LONGEST_LIFE_MS, 'limit', 0, most)
  for i = 1, owners.err and 0 or #owners do
    told[2 * i - 1], told[2 * i] = owners[i], ''
  end
  return owners.err and 0 or numberOf(redis.pcall('zcount', writers, now, now + LONGEST_LIFE_MS)), told
end
