-- readers: those of a read-write lock that are alive. Dead readers still have a field, but no time-out key.
-- How many ms the longest lease of a reader has left; 0: there is none.
local function longestOfReaders(lock, before, behind)
  local longest = 0
  local fields = redis.call('hgetall', lock)
  for i = 1, #fields, 2 do
    for n = 1, tonumber(fields[i + 1]) or 0 do
      local key = before .. fields[i] .. behind .. n
      longest = math.max(longest, redis.call('pttl', key))
    end
  end
  return longest
end

-- Gives the lock that time to live. False: there is no reader, and the lock is deleted.
local function leaveToReaders(lock, before, behind)
  local longest = longestOfReaders(lock, before, behind)
  if longest > 0 then
    redis.call('pexpire', lock, longest)
  else
    redis.call('del', lock)
  end
  return longest > 0
end
