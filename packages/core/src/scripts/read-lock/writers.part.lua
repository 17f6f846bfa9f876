-- writers: the waiting writers, each until a time of Redis.
-- They are a hint to readers: a key of another type under that name blocks no reader, and no release.
-- insert clock
-- insert life

-- How many there are; an error if the key has another type.
local function writersAt(writers)
  local now = clock()
  return redis.call('exists', writers) == 1 and redis.pcall('zcount', writers, now, now + LONGEST_LIFE_MS) or 0
end

local function writersWait(writers)
  local waiting = writersAt(writers)
  return type(waiting) == 'number' and waiting > 0
end
