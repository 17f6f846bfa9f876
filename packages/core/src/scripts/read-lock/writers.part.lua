-- writers: the writers that wait, each until a time of Redis.
-- insert clock

local function writersWait(writers)
  return redis.call('exists', writers) == 1 and redis.call('zcount', writers, clock(), '+inf') > 0
end
