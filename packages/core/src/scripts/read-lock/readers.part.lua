-- readers: those of a read-write lock that are alive. Dead ones have a field still, and no time-out key any more.
-- How long the one among them has it that has it longest, ms; 0: there is none.
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

-- The lock is theirs for that long. False: there is none, and it is gone.
local function leaveToReaders(lock, before, behind)
  local longest = longestOfReaders(lock, before, behind)
  if longest > 0 then
    redis.call('pexpire', lock, longest)
  else
    redis.call('del', lock)
  end
  return longest > 0
end
