-- writers: the writers that wait, each until a time of Redis.
-- They are a hint to readers: something else under that name keeps nobody out, and no lock from being given back.
-- insert clock
-- insert life

-- How many there are; an error where something else is there.
local function writersAt(writers)
  local now = clock()
  return redis.call('exists', writers) == 1 and redis.pcall('zcount', writers, now, now + LONGEST_LIFE_MS) or 0
end

local function writersWait(writers)
  local waiting = writersAt(writers)
  return type(waiting) == 'number' and waiting > 0
end
