-- readers: those of a read-write lock that are alive. Dead ones have a field still, and no time-out key any more.
-- The lock is theirs for as long as the one among them that has it longest. False: there is none, and it is gone.
local function leaveToReaders(lock, before, behind)
  local longest = 0
  local fields = redis.call('hgetall', lock)
  for i = 1, #fields, 2 do
    for n = 1, tonumber(fields[i + 1]) or 0 do
      local key = before .. fields[i] .. behind .. n
      longest = math.max(longest, redis.call('pttl', key))
    end
  end
  if longest > 0 then
    redis.call('pexpire', lock, longest)
  else
    redis.call('del', lock)
  end
  return longest > 0
end
