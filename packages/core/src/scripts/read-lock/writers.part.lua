-- writers: the writers that wait, each until a time of Redis.
-- They are a hint to readers: something else under that name keeps nobody out, and no lock from being given back.
-- insert clock

local function writersWait(writers)
  local waiting = redis.call('exists', writers) == 1 and redis.pcall('zcount', writers, clock(), '+inf')
  return type(waiting) == 'number' and waiting > 0
end
