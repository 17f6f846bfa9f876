-- holder: who has a read-write lock, for those it refuses.
local function heldBy(lock)
  local fields = redis.call('hgetall', lock)
  for i = 1, #fields, 2 do
    if fields[i] ~= 'mode' then
      return { redis.call('pttl', lock), fields[i], fields[i + 1] }
    end
  end
  return { redis.call('pttl', lock), '', 0 }
end
