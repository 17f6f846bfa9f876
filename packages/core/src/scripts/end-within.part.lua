-- end-within: let a lease end sooner.
-- A key without an end gets one, a key that is gone stays gone, and nothing lasts longer than before.
local function endWithin(key, lease)
  local left = redis.call('pttl', key)
  if left < 0 or left > lease then
    redis.call('pexpire', key, lease)
  end
end
