-- move: renames the owner of a hold.
-- In this order: without any field the key would be deleted, with its time to live. Returns whether the old owner held it.
local function move(lock, from, to)
  local holds = redis.call('hget', lock, from)
  if holds then
    redis.call('hset', lock, to, holds)
    redis.call('hdel', lock, from)
  end
  return holds
end
