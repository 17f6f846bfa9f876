-- writers: the writers that wait, each until a time of Redis.
local function clock()
  local time = redis.call('time')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function writersWait(writers)
  return redis.call('exists', writers) == 1 and redis.call('zcount', writers, clock(), '+inf') > 0
end
